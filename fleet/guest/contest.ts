/** When writes to a cluster of the fleet count as undone by somebody there. */
import { Contest } from "#kube/contest.ts";
import { has, type Content } from "../secret/content.ts";

/**
 * Writes of one content, or removals, that a cluster gets. To repair it five times at once is
 * nothing special. A cluster that needs more than one a minute, for ever, undoes them; as a canary
 * it would hold up all others, and each write would be followed by the next at once.
 */
const writes = { perSecond: 1 / 60, atOnce: 5 };

/** What is to be there; undefined: nothing. */
export type Due = Content | undefined;

export const same = (one: Due, other: Due): boolean =>
  one === other || (one !== undefined && other !== undefined && has(one, other));

export const contestOfGuest = (): Contest<Content> => new Contest(writes, same);

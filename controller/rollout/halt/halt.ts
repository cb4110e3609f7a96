/**
 * What a halt leaves behind: which content halted, on which nodes, and when it is tried once more.
 * Pure. While it lasts the nodes are told to keep what they have; whose fault it was, the node's or
 * the content's, is what the next try tells.
 */
import { createHash } from "node:crypto";
import type { Content, Intent } from "#contract/names.ts";
import { nobody, type Known } from "#controller/rollout/turn/node-state.ts";
import type { HaltReason } from "#controller/rollout/turn/turn.ts";

export type Halt = Readonly<{
  /**
   * Digest of what halted. The Secret that keeps it holds the content as well, so that it gives
   * nothing away.
   */
  content: string;
  revision: number;
  /** `stalled`: it failed on other nodes when it was tried again. */
  reason: HaltReason | "stalled";
  /** Names of the nodes that failed with it, in all tries. */
  nodes: readonly string[];
  since: string;
  /** How often it was tried again. */
  tries: number;
  retryAt: string;
  /**
   * The asked-for retry (annotation of additional-pull-secret) that was known then: another one is
   * a new wish.
   */
  asked: string;
}>;

/** What the rollout must remember and is in no object. */
export type Rollouts = Readonly<{
  halt: Halt | undefined;
  /** Names of the nodes that lived and were unavailable when the present template came. */
  excused: readonly string[];
  /** When the last rollout of a change began. */
  rolledAt: string | undefined;
}>;

/**
 * 10 minutes, as long as a node keeps a content in quarantine; doubling, 6 hours at most. In
 * milliseconds.
 */
const firstPause = 600_000;
const longestPause = 6 * 3_600_000;

/**
 * Names kept, all lists together: 4,000 of 50 characters are 200 KB of the 1 MiB that a Secret
 * holds.
 */
export const mostNames = 2000;

export function contentOf({ document, sources, intent }: Content): string {
  return createHash("sha256")
    .update(JSON.stringify([intent, sources, document]))
    .digest("hex");
}

/** What is kept when a node has nothing of ours: the last served document, or none. */
export function heldContent(served: { document: string; sources: string } | undefined): Content {
  return {
    document: served?.document ?? '{"auths":{}}',
    sources: served?.sources ?? "{}",
    intent: "hold",
  };
}

export type Asked = Readonly<{
  content: string;
  intent: Intent;
  /** It lacks a source of what was served: a withdrawal, which is never held. */
  takesBack: boolean;
  retry: string;
  now: Date;
}>;

/**
 * True while the wanted content must not be published: it halted, and nobody asked for another try.
 */
export function isHeld({ halt }: Rollouts, asked: Asked): boolean {
  return isHoldable(asked) && halt?.content === asked.content && !isDue(halt, asked);
}

const isHoldable = ({ intent, takesBack }: Pick<Asked, "intent" | "takesBack">) =>
  intent === "apply" && !takesBack;

function isDue(halt: Halt, asked: Asked): boolean {
  return isNewWish(halt, asked) || pauseLeft(halt, asked) === 0;
}

/** A retry is asked for that was not when it halted. An annotation taken away asks for nothing. */
export function isNewWish(halt: Halt, { retry }: Pick<Asked, "retry">): boolean {
  return retry !== "" && retry !== halt.asked;
}

/** Seconds until the next try; 0 when there is nothing to wait for. */
export function retrySeconds({ halt }: Rollouts, { now }: Pick<Asked, "now">): number {
  return halt === undefined ? 0 : pauseLeft(halt, { now }) / 1000;
}

/**
 * Milliseconds until the next try. A time further away than any pause was written by a clock that
 * was ahead of this one: the try is due at once, rather than in a year.
 */
function pauseLeft({ retryAt }: Halt, { now }: Pick<Asked, "now">): number {
  const left = Date.parse(retryAt) - now.getTime();
  return left > longestPause ? 0 : Math.max(0, left);
}

/** Whose trouble is no news under the present template. */
export function knownOf({ halt, excused }: Rollouts, asked: Asked): Known {
  const again = halt !== undefined && halt.content === asked.content && isDue(halt, asked);
  return {
    ...nobody,
    excused: new Set(excused),
    failed: again ? new Set(halt.nodes) : nobody.failed,
  };
}

/**
 * After a halt. An outage is over when it is over: the next try waits for the nodes, not for a
 * time.
 */
export function afterHalt(
  before: Rollouts,
  {
    asked,
    revision,
    reason,
    nodes,
  }: { asked: Asked; revision: number; reason: HaltReason; nodes: readonly string[] },
): Rollouts {
  const { content, now, retry } = asked;
  const last = before.halt?.content === content ? before.halt : undefined;
  // Nodes that fail again are out of reach as well: that is no outage which ends by itself.
  const failed = reason === "failed" || (last !== undefined && last.reason !== "outage");
  const all = [...new Set([...(last?.nodes ?? []), ...nodes])].slice(0, mostNames);
  // A withdrawal is never taken back and published again: each of its halts is a try.
  const tries = last === undefined ? 0 : last.tries + (isHoldable(asked) ? 0 : 1);
  const elsewhere =
    last !== undefined && last.nodes.length > 0 && nodes.some((name) => !last.nodes.includes(name));
  const pause = failed ? Math.min(longestPause, firstPause * 2 ** Math.min(tries, 20)) : 0;
  const halt: Halt = {
    content,
    revision,
    reason: !failed ? "outage" : elsewhere || last?.reason === "stalled" ? "stalled" : "failed",
    nodes: all,
    since: last?.since ?? now.toISOString(),
    tries,
    retryAt: new Date(now.getTime() + pause).toISOString(),
    asked: retry,
  };
  return { ...before, halt };
}

/**
 * When a revision goes to the nodes: `excused` are those that are unavailable now, though they
 * live.
 */
export function afterRoll(before: Rollouts, asked: Asked, excused: readonly string[]): Rollouts {
  const { halt } = before;
  const again = asked.intent === "apply" && halt?.content === asked.content;
  return {
    halt: again
      ? {
          ...halt,
          tries: halt.tries + (halt.reason === "outage" ? 0 : 1),
          retryAt: asked.now.toISOString(),
          asked: asked.retry,
        }
      : undefined,
    excused: excused.slice(0, mostNames),
    rolledAt: asked.now.toISOString(),
  };
}

/** True when a halt says what is known already. */
export function isTold({ halt }: Rollouts, { content }: Asked, nodes: readonly string[]): boolean {
  return halt?.content === content && nodes.every((name) => halt.nodes.includes(name));
}

/** When every node that can be served has it: who failed with it is at fault, and stays excused. */
export function afterServed(before: Rollouts, excused: readonly string[]): Rollouts {
  return { ...before, halt: undefined, excused: excused.slice(0, mostNames) };
}

export const noRollouts: Rollouts = { halt: undefined, excused: [], rolledAt: undefined };

/** Reads what was kept; what makes no sense reads as nothing. */
export function readRollouts(value: unknown): Rollouts {
  if (typeof value !== "object" || value === null) return noRollouts;
  const { halt, excused, rolledAt } = value as Record<string, unknown>;
  return {
    halt: readHalt(halt),
    excused: names(excused),
    rolledAt: isTime(rolledAt) ? rolledAt : undefined,
  };
}

function readHalt(value: unknown): Halt | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { content, revision, reason, nodes, since, tries, retryAt, asked } = value as Record<
    string,
    unknown
  >;
  const known = reason === "failed" || reason === "outage" || reason === "stalled";
  if (
    typeof content !== "string" ||
    typeof asked !== "string" ||
    !known ||
    !isTime(since) ||
    !isTime(retryAt)
  )
    return undefined;
  return {
    content,
    revision: count(revision),
    reason,
    nodes: names(nodes),
    since,
    tries: count(tries),
    retryAt,
    asked,
  };
}

const names = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
const count = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
const isTime = (value: unknown): value is string =>
  typeof value === "string" && !Number.isNaN(Date.parse(value));

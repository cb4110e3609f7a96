/** What is new of a rollout, or lasts: the outcome of a run as a Notice. Pure. */
import type { View } from "#controller/rollout/decision.ts";
import type { Progress } from "../rollout/step.ts";
import type { TroubleKind } from "./troubles.ts";
import { troubledOf } from "./nodes.ts";
import type { Notice } from "./events.ts";
import * as messages from "./messages.ts";

/** A kind of trouble, with its message. */
export type Trouble = readonly [kind: TroubleKind, notice: Notice];

/** What was reached just now. A revision is rolled out once; later nodes do not repeat it. */
export function newsOf(progress: Progress): Notice | undefined {
  const { ended, view, revision, publishedAt, desired, now } = progress;
  if (!ended || view === undefined) return undefined;
  const missing = [...view.failed, ...view.excused].map(({ node }) => node);
  const seconds = Math.max(0, Math.round(now - publishedAt));
  return messages.rolledOut(revision, Math.max(0, desired - missing.length), missing, seconds);
}

/** What keeps a rollout or an upgrade from its end, and only a person can change. */
export function troublesOf(progress: Progress): readonly Trouble[] {
  const { view } = progress;
  if (view === undefined) return [];
  const kept: readonly Trouble[] =
    view.kept.length > 0 ? [["upgradeRefused", messages.upgradeRefused(view.kept)]] : [];
  return [...rolloutTroubles(progress, view), ...kept];
}

const failedOf = (progress: Progress, { failed }: View) =>
  troubledOf(progress).slice(0, failed.length);

function rolloutTroubles(progress: Progress, view: View): readonly Trouble[] {
  const { revision } = progress;
  if (view.phase === "halted")
    // Nodes that are away or cannot start their agent are not the reason.
    return [["halted", messages.halted(revision, view.failures, failedOf(progress, view))]];
  if (view.phase === "served" && view.failed.length > 0)
    return [["failed", messages.failed(revision, failedOf(progress, view))]];
  const { changing, waiting, starting } = view.counts;
  const isStuck = view.phase === "canary" && changing + waiting + starting === 0;
  // Nodes that are away return by themselves.
  const isForPeople = view.excused.some(({ reason }) => reason !== "away");
  return isStuck && isForPeople
    ? [["unserved", messages.unserved(revision, troubledOf(progress))]]
    : [];
}

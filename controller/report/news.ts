/** What is new of a rollout, or lasts: the outcome of a run as a Notice. Pure. */
import type { Progress } from "../rollout/step.ts";
import type { Notice } from "./events.ts";
import { pick } from "#controller/rollout/turn/node-state.ts";
import type { TroubleKind } from "../status/troubles.ts";
import * as messages from "./messages.ts";

/** A kind of trouble, with its message. */
export type Trouble = readonly [kind: TroubleKind, notice: Notice];

/**
 * The news of a rollout. There is none of what was requested just now: the next run, 0.2 s later,
 * sees it begin. A rolled-out revision is news once; nodes that come and go later do not repeat it.
 */
export function newsOf(
  progress: Progress,
  now: Date,
): Readonly<{ notice: Notice | undefined }> | undefined {
  const { turn, complete } = progress;
  if (turn.kind === "roll" && turn.halt === undefined && !complete) return undefined;
  if (turn.kind === "served" && !complete) return { notice: rolledOut(progress, now) };
  return { notice: haltOf(progress) };
}

function rolledOut(
  { revision, daemonSetState, counts, fates, rollouts }: Progress,
  now: Date,
): Notice {
  const total = counts?.total ?? daemonSetState?.desired ?? 0;
  const began = Date.parse(rollouts.rolledAt ?? now.toISOString());
  const seconds = Math.max(0, Math.round((now.getTime() - began) / 1000));
  const missing = pick(fates, "unreachable", "refused", "excused", "failed", "stuck").map(
    ({ name }) => name,
  );
  return messages.rolledOut(revision, counts?.served ?? total, missing, seconds);
}

/** What holds a rollout up, worst first; undefined when nothing was found. */
export function haltOf({
  revision,
  turn,
  fates,
  rollouts: { halt },
}: Progress): Notice | undefined {
  if (halt !== undefined && turn.kind === "wait" && turn.phase === "held")
    return messages.held(halt);
  if (turn.kind === "wait" && turn.phase === "outage")
    return messages.outage(
      revision,
      pick(fates, "unreachable", "excused").map(({ name }) => name),
    );
  const found = pick(fates, "failed", "stuck");
  const halts = turn.kind === "roll" && turn.halt !== undefined;
  return found.length > 0
    ? messages.halted(halts ? (halt?.revision ?? revision) : revision, found)
    : undefined;
}

/** When every node that can be served has the template, and what follows. Pure. */
import { guardSeconds } from "#contract/names.ts";
import { roll, wait } from "#controller/rollout/turn/answers.ts";
import { brokenFor, tooManyFailed, unavailableFor } from "#controller/rollout/turn/excuses.ts";
import { everyNode, type Strategy } from "#controller/rollout/turn/strategy.ts";
import { calmIn } from "#controller/rollout/turn/patience.ts";
import {
  type DaemonSetState,
  provedBy,
  type RolloutInput,
  type Turn,
} from "#controller/rollout/turn/turn.ts";

/**
 * True when a survey at birth is worth its cost: agents are missing, or all have been Ready for as
 * long as makes them available. A survey shows that for each by name, whatever its node's clock
 * says.
 */
export function isBorn({ stallSeconds, readySeconds }: RolloutInput, all: boolean): boolean {
  return !all || Math.min(stallSeconds, readySeconds) >= guardSeconds;
}

/**
 * True when a survey says that every living node has the template, but for those that are excused,
 * and the DaemonSet controller has seen it too. That controller replaces at once, beside the
 * budget, what it counts as unavailable, and its view may be half a minute older than ours after
 * the API server was away (docs/decisions/0013).
 */
export function allLivingServed(
  { counts, complete, intent, ...input }: RolloutInput,
  daemonSet: DaemonSetState,
): boolean {
  if (counts === undefined) return false;
  const { served, failed, stuck, total } = counts;
  const excused = intent === "hold" || complete;
  const tolerated = excused
    ? failed + stuck
    : intent === "release" || tooManyFailed(counts, input)
      ? 0
      : failed;
  const enough = served + unavailableFor(counts) + tolerated === total;
  return enough && Math.min(daemonSet.updated, provedBy(daemonSet)) >= served;
}

/**
 * The turn once every node that can be served has the template, available. Only now may the next
 * change follow.
 */
export function nextAfterServed(input: RolloutInput, daemonSet: DaemonSetState, odd: number): Turn {
  const { counts, intervalLeft } = input;
  const strategy: Strategy = { stage: "wave", maxUnavailable: input.maxUnavailable };
  if (input.pending || input.published !== daemonSet.template) {
    const broken = counts === undefined ? odd : brokenFor(counts);
    const spared =
      input.pending &&
      input.wanted === "apply" &&
      !input.takesBack.wanted &&
      daemonSet.template > 0 &&
      input.intent !== "hold";
    const calm = calmIn(input);
    if (calm > 0) {
      const reason = "many nodes, or the API server, were out of reach a moment ago";
      return { ...wait("interval", strategy, reason, calm), served: true };
    }
    if (spared && intervalLeft > 0)
      return {
        ...wait(
          "interval",
          strategy,
          "the previous rollout began less than rollout.minInterval ago",
          intervalLeft,
        ),
        served: true,
      };
    const reason =
      daemonSet.template === 0 ? "every agent is ready" : "every node has the previous revision";
    return { ...roll(input, daemonSet, broken, reason), served: true };
  }
  if (input.intent === "hold")
    return wait("held", everyNode, "every node keeps what it has", Math.max(1, input.retrySeconds));
  const reason =
    odd === 0 ? "every node has it" : `every node has it, except ${odd} that cannot be served`;
  return { kind: "served", strategy, reason, again: undefined };
}

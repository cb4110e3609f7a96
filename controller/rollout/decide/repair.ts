/** What is done when somebody else changed the Secret or the template. Pure. */
import { first, phaseOf, wait } from "#controller/rollout/turn/answers.ts";
import { brokenFor } from "#controller/rollout/turn/excuses.ts";
import { isCalm, isWorthASurvey, stallLimit } from "#controller/rollout/turn/patience.ts";
import { slotsOf, type Strategy } from "#controller/rollout/turn/strategy.ts";
import type { DaemonSetState, RolloutInput, Turn } from "#controller/rollout/turn/turn.ts";

/**
 * The Secret or the template is not what we wrote. The Secret is put right at once, the template
 * only when its controller takes no more agents for unavailable than it may: it would replace all
 * others, too (docs/decisions/0013).
 */
export function repair(input: RolloutInput, daemonSet: DaemonSetState, kept: Strategy): Turn {
  const { lost, standing } = input;
  if (!isCalm(input, daemonSet)) {
    if (standing === undefined && isWorthASurvey(input, daemonSet)) return { kind: "survey" };
    const reason = "to be repaired when the agents that are missing are back";
    return {
      ...wait(phaseOf(daemonSet), kept, reason, stallLimit(input)),
      ...(lost ? { publish: true } : {}),
    };
  }
  const odd = standing === undefined ? slotsOf(daemonSet, input) : brokenFor(standing);
  // The same revision: agents are replaced, kubelets are not restarted. Still one node first: an
  // image can be broken.
  const revision = lost && daemonSet.template > 0 ? "published" : daemonSet.template;
  const reason = lost
    ? "global-pull-secret was lost or edited"
    : "the template is not the declared one";
  return { kind: "roll", revision, strategy: first(input, daemonSet, odd), reason };
}

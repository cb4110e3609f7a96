/** What happens when somebody else changed the Secret or the template. Pure. */
import { first, phaseOf, wait } from "#controller/rollout/turn/answers.ts";
import { brokenFor } from "#controller/rollout/turn/excuses.ts";
import { isCalm, isWorthASurvey, stallLimit } from "#controller/rollout/turn/patience.ts";
import { slotsOf, type Strategy } from "#controller/rollout/turn/strategy.ts";
import type { DaemonSetState, RolloutInput, Turn } from "#controller/rollout/turn/turn.ts";

/**
 * Puts right a Secret or a template that is not what we wrote. The Secret is written at once. The
 * template waits until its controller counts no more agents as unavailable than it may, because it
 * would replace all those as well (docs/decisions/0013).
 */
export function repair(input: RolloutInput, daemonSet: DaemonSetState, kept: Strategy): Turn {
  const { lost, counts } = input;
  if (!isCalm(input, daemonSet)) {
    if (counts === undefined && isWorthASurvey(input, daemonSet)) return { kind: "survey" };
    const reason = "to be repaired once the missing agents are back";
    return {
      ...wait(phaseOf(daemonSet), kept, reason, stallLimit(input)),
      ...(lost ? { publish: true } : {}),
    };
  }
  const odd = counts === undefined ? slotsOf(daemonSet, input) : brokenFor(counts);
  // A repair keeps the revision, so agents are replaced and no kubelet is restarted. It still
  // begins with one node, because an image can be broken.
  const revision = lost && daemonSet.template > 0 ? "published" : daemonSet.template;
  const reason = lost
    ? "global-pull-secret was lost or edited"
    : "the template is not the declared one";
  return { kind: "roll", revision, strategy: first(input, daemonSet, odd), reason };
}

/**
 * What a refusal means for readiness. Pure.
 *
 * The controller grants only pods that are Ready, and a refusal is a word about a grant. So a node
 * without a grant is Ready although it is unfit: its line names the reason, and it refuses by word
 * what it is granted. Otherwise no one could learn its reason, and it would hold up a withdrawal.
 *
 * A withdrawal is never refused, and nothing is while it is not known what was granted.
 */
import type { Facts } from "../facts/facts.ts";
import { granted, ours } from "../facts/grant.ts";
import { type Answer, ask } from "../facts/step.ts";

export function weighed(facts: Facts, answer: Answer): Answer {
  const { grant, mounted } = facts;
  if (!("refused" in answer) || grant === "unread") return answer;
  if (granted(grant) === undefined) return { ...answer, ready: true };
  if (mounted === undefined) return ask("mounted");
  if (ours(facts)?.intent === "apply") return answer;
  const { refused: _refused, ...wait } = answer;
  return wait;
}

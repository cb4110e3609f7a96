/**
 * A mount that has gone stale: what the host mounted over or made anew after our start does not
 * reach us, so the bus's socket is dead or missing for ever. Only a new container gets a new mount,
 * so the agent ends. Pure.
 */
import type { Facts } from "../facts/facts.ts";
import type { Answer } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/**
 * Longer than any restart of the bus; each life lasts so long at least, so the kubelet never backs
 * off.
 */
const patience = 300_000;

/**
 * An end in place of a wait for the bus, where its socket has answered nobody for five minutes. Not
 * while healthz is silent: a kubelet that is down starts no container, and we are the one to revive
 * it. What is owed is in the journal, and the next container makes it good.
 */
export function orStale({ steady, healthy }: Facts, answer: Answer): Answer {
  const stale =
    answer.action === "wait" &&
    answer.code === codes.systemdUnknown &&
    steady.unreached >= patience;
  if (!stale || healthy !== true) return answer;
  return {
    action: "end",
    code: codes.busLost,
    detail: answer.detail,
    ready: false,
    again: 0,
    exit: 0,
  };
}

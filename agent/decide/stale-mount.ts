/**
 * A stale mount: what the host mounted or recreated after our start does not reach us, so the bus's
 * socket stays dead or missing. Only a new container gets a new mount, so the agent ends. Pure.
 */
import { exitCodes } from "#contract/names.ts";
import type { Facts } from "../facts/facts.ts";
import { type Answer, atOnce } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/**
 * Longer than any restart of the bus. Each container lives this long at least, so the kubelet never
 * backs off.
 */
const patience = 300_000;

/**
 * Ends the agent instead of waiting for the bus, once its socket has not answered for five minutes.
 * Not while healthz is silent: a kubelet that is down starts no container, and we are to revive it.
 * What is owed is in the journal, and the next container does it.
 */
export function orStale({ stopwatch, healthy }: Facts, answer: Answer): Answer {
  const stale =
    answer.action === "wait" &&
    (answer.code === codes.systemdUnknown || answer.code === codes.noSystemd) &&
    stopwatch.unreached >= patience;
  if (!stale || healthy !== true) return answer;
  return atOnce({
    action: "end",
    code: codes.busLost,
    detail: answer.detail,
    exit: exitCodes.done,
  });
}

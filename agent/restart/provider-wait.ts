/** The first node that registers a provider: until its kubelet has asked. Pure. */
import { askingSeconds } from "#contract/names.ts";
import type { Facts } from "../facts/facts.ts";
import type { Journal } from "../journal/journal.ts";
import { ours } from "../facts/grant.ts";
import { soon, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/**
 * That systemd shows our flags proves that the kubelet knows of the provider, not that it can run
 * the script. Undefined where nothing is to be waited for: another node has shown it, the kubelet
 * has asked, or no pod has pulled for `askingSeconds`.
 */
export function awaitAsking(facts: Facts, { registered }: Journal): Step | undefined {
  const { file, time, grant } = facts;
  const isFirst = typeof grant === "object" && grant.word && ours(facts) !== undefined;
  if (registered === undefined || !isFirst) return undefined;
  if (!("asked" in file) || file.asked) return undefined;
  // The node rebooted since; by what time its flags were put in place nobody can tell.
  if (registered.boot !== time.boot) return undefined;
  const remaining = registered.monotonic + askingSeconds * 1000 - time.monotonic;
  if (remaining <= 0) return undefined;
  return wait(codes.toBeAsked, soon, `waits ${Math.ceil(remaining / 60_000)} min at most`);
}

/** When a withdrawal is complete. Pure. */
import { holdsNewest } from "./facts.ts";
import type { JudgedPod, Look } from "./survey.ts";

/**
 * Completes the withdrawal when every Node older than the release has confirmed it by word, or when
 * `forgetAfter` is over. A younger Node never had anything: since the release nothing is served.
 */
export function completeWithdrawal(look: Look): void {
  const { snapshot, secret, now } = look;
  if (!look.isRelease() || snapshot.wanted.intent !== "release") return;
  const left = secret.publishedAt + snapshot.policy.forgetAfter - now.api;
  const isConfirmed = hasEveryNode(look);
  if (isConfirmed || left < 0) look.actions.push({ kind: "complete", isConfirmed });
  else look.lookIn(left + 1);
}

const hasConfirmed = (look: Look, { pod, verdict }: JudgedPod): boolean =>
  !look.granted.has(pod.uid) && verdict.is === "proved" && holdsNewest(pod, look.secret);

function hasEveryNode(look: Look): boolean {
  const { publishedAt } = look.secret;
  const { byName, all } = look.snapshot.nodes;
  const confirmed = new Set<string>();
  for (const one of look.pods) {
    if (hasConfirmed(look, one)) confirmed.add(one.pod.node);
    // A Node is not younger than its pods. So an old pod answers without reading its Node.
    else if (one.pod.created <= publishedAt) return false;
  }
  if (!all) {
    look.readAll = true;
    return false;
  }
  for (const [name, node] of byName)
    if (node !== undefined && node.created <= publishedAt && !confirmed.has(name)) return false;
  return true;
}

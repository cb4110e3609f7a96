/** When the newest content becomes what new nodes get, and when it is rolled out. Pure. */
import { holdsNewest } from "./facts.ts";
import { isLost, latestOf, lostOf } from "./halt.ts";
import type { JudgedPod, Look } from "./survey.ts";
import type { Newer } from "./publish.ts";
import { isAway } from "./node-state.ts";

/**
 * Promotes once the canary gave its word, and every pod that existed at that moment has proved the
 * content, is excused, or has failed. Nodes that joined later do not delay it, so a rollout ends
 * however many nodes join. Those that joined before the promotion hold something older, and are
 * awaited until the rollout is reported as over.
 */
export function promote(look: Look, { cause, waitsFor }: Newer): void {
  const { state } = look;
  if (look.isRelease()) return;
  if (look.isPromoted()) return endWait(look);
  if (!state.word || state.halted) return;
  // Newer content may lack a source, or may have lacked it for a while, so this also holds while it
  // waits for an interval or for the end of a pause. New nodes are granted what is published.
  if (cause !== undefined || waitsFor !== undefined) return;
  if (!hasAll(look, state.base)) return;
  // Saved first: a controller that is killed in between only saves it again.
  keepWait(look, hasAll(look, Infinity) ? -1 : latestOf(look));
  look.actions.push({ kind: "promote" });
}

function endWait(look: Look): void {
  if (look.state.awaited >= 0 && hasAll(look, look.state.awaited)) keepWait(look, -1);
}

function keepWait(look: Look, awaited: number): void {
  if (look.state.awaited === awaited) return;
  look.change({ awaited });
  look.save();
}

/** True if no pod of this age or older holds up the rollout. */
const hasAll = (look: Look, created: number): boolean =>
  look.pods.every((one) => one.pod.created > created || isDone(look, one));

/** True if the rollout does not wait for this pod. */
function isDone(look: Look, one: JudgedPod): boolean {
  if (look.granted.has(one.pod.uid)) return false;
  const { verdict } = one;
  if (verdict.is === "proved" && holdsNewest(one.pod, look.secret)) return true;
  if (verdict.is === "failed" || look.isExcused(one)) return true;
  // A node that has proved older content is granted this when it is back.
  return isAway(one.seen, look.now) || isTakenBack(look, one);
}

/** Excused or failed, and its grant was taken back. A retry waits for the node once more. */
function isTakenBack(look: Look, one: JudgedPod): boolean {
  const { grant } = one.pod;
  if (grant?.revision !== 0 || grant.digest !== String(look.secret.revision)) return false;
  return one.verdict.is !== "back" && !isLost(look, lostOf(look.state), one);
}

/**
 * The upgrade: the DaemonSet's update strategy is OnDelete, and the controller replaces pods of
 * older templates itself. Pure.
 */
import { holdsNewest, mostListed } from "./facts.ts";
import type { JudgedPod, Look } from "./survey.ts";
import { absenceSeconds } from "./node-state.ts";

/**
 * Records nodes and deletes their pods. At most `maxUnavailable` recorded nodes wait for a
 * successor that is Ready, so an image that cannot start takes away no more agents than that. A pod
 * that has not been Ready for 60 s is replaced without a record, because nothing is lost with it. A
 * pod whose deletion is refused gives up its record, so that the others are replaced.
 */
export function replacePods(look: Look): void {
  const { snapshot, state } = look;
  const { maxUnavailable } = snapshot.policy;
  const most = Math.min(mostListed, maxUnavailable === "all" ? Infinity : maxUnavailable);
  const replaced = new Set(state.replaced.filter((node) => !hasArrived(look, node)));
  const deleted: JudgedPod[] = [];
  for (const one of look.pods) {
    if (!isReplaced(look, one)) continue;
    const { pod, seen } = one;
    if (seen.kept !== undefined) replaced.delete(pod.node);
    if (!look.mayPatch({ refused: seen.kept })) continue;
    const notReady = look.now.steady - seen.readyAt;
    if (!pod.ready.is && notReady < absenceSeconds) look.lookIn(absenceSeconds - notReady);
    const isCounted = pod.ready.is || notReady < absenceSeconds;
    if (isCounted && !replaced.has(pod.node)) {
      if (replaced.size >= most) continue;
      replaced.add(pod.node);
    }
    deleted.push(one);
  }
  const names = [...replaced];
  if (
    names.length !== state.replaced.length ||
    names.some((name, at) => name !== state.replaced[at])
  ) {
    look.change({ replaced: names });
    look.save();
  }
  for (const { pod } of deleted) {
    look.actions.push({ kind: "delete", pod });
    look.written.add(pod.uid);
  }
}

/**
 * Its successor is Ready, or the Node is gone. A withdrawal leaves Ready pods in place, also
 * those of a template that is not the newest any more.
 */
function hasArrived(look: Look, node: string): boolean {
  const found = look.byNode.get(node)?.pod;
  if (found === undefined) return look.isGone(node, Infinity) === true;
  const remains = look.isRelease() && found.mode !== undefined;
  return found.ready.is && (found.isCurrent || remains);
}

function isReplaced(look: Look, { pod, verdict }: JudgedPod): boolean {
  if (pod.isCurrent || pod.isDeleting || pod.unreachable !== undefined) return false;
  if (look.written.has(pod.uid)) return false;
  // A pod that is deleted under a grant would keep its place, and its node's kubelet may be down.
  if (look.taken.has(pod.node)) return false;
  // During a withdrawal only pods that cannot take it: not Ready, or from before grants.
  if (!look.isRelease()) return true;
  const hasConfirmed = verdict.is === "proved" && holdsNewest(pod, look.secret);
  return pod.mode === undefined || (!pod.ready.is && !hasConfirmed);
}

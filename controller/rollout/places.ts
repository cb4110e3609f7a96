/**
 * The places that unproved grants take, of `maxUnavailable`. A grant keeps its place until it is
 * proved, or failed, or excused. Pure.
 */
import type { Look } from "./survey.ts";
import { absenceSeconds, unbrokenSeconds } from "./node-state.ts";

/**
 * Decides about the places of pods that were deleted under a grant, whose kubelet may be changing.
 * Such a place lasts until the successor was Ready for 3 s or the Node is gone. A node without a
 * Ready successor for 60 s has failed: its uid is returned.
 */
export function settlePlaces(look: Look): readonly string[] {
  const failed: string[] = [];
  for (const [node, place] of look.places) {
    const successor = look.byNode.get(node);
    const isGone = look.isGone(node, place.created);
    const end = (): boolean => look.places.delete(node);
    if (isGone === true) {
      end();
      continue;
    }
    const waited = look.now.steady - (successor?.seen.readyAt ?? place.at);
    if (successor?.pod.ready.is === true) {
      if (waited >= unbrokenSeconds) end();
      else look.lookIn(unbrokenSeconds - waited);
      continue;
    }
    const is = successor?.verdict.is;
    const isLost = successor ? is === "excused" || is === "failed" : waited >= absenceSeconds;
    if (!isLost) {
      look.lookIn(successor ? 1 : absenceSeconds - waited);
      continue;
    }
    // Whether it failed is known only if the Node still exists.
    const uid = look.snapshot.nodes.byName.get(node)?.uid;
    if (uid === undefined) continue;
    // The place lasts until the failure is stored, so a write that is refused forgets neither.
    if (look.isRelease() || look.state.failed.includes(uid)) end();
    else failed.push(uid);
  }
  for (const node of look.places.keys()) look.taken.add(node);
  return failed;
}

/**
 * The controller's decisions about grants, in their order. Pure: one snapshot in, actions out.
 *
 *     observe → failures → retry or halt → take back → publish → template → upgrade → grant →
 *     promote or complete
 *
 * A step that changes what all others rest on (a retry, a halt, the Secret, the template) ends the
 * decision. The next one sees its effect.
 */
import type { Decision, Reads, View } from "./decision.ts";
import { recordNews, steer, takeBack } from "./halt.ts";
import { Look } from "./survey.ts";
import { seePodless, type Memory } from "./memory.ts";
import type { Now, SecretFacts, Snapshot } from "./facts.ts";
import { settlePlaces } from "./places.ts";
import { promote } from "./promotion.ts";
import { newerOf, publication, publishNewer, type Newer } from "./publish.ts";
import { replacePods } from "./replace.ts";
import { idleView, viewOf } from "./view.ts";
import { completeWithdrawal } from "./completion.ts";
import { fillWindow, raiseSync } from "./budget.ts";

/**
 * What to do now. `memory` is that of the decision before, with the answers to its patches
 * (`afterRefusal`). The snapshot must contain every write of the Secret, the state and the template
 * that was made; it may lack patches of pods.
 */
export function decide(snapshot: Snapshot, memory: Memory, now: Now): Decision {
  const { secret, template, wanted } = snapshot;
  if (isHeld(snapshot)) return { ...withoutPods(memory, []), view: heldView };
  if (secret === undefined) {
    const isNeeded = wanted.intent === "apply" || template !== undefined;
    return withoutPods(memory, isNeeded ? [publication(snapshot, "missing")] : []);
  }
  if (template === undefined) {
    const isOver = wanted.intent === "release" && secret.intent === "release";
    const action = isOver
      ? ({ kind: "complete", isConfirmed: true } as const)
      : ({ kind: "write-template" } as const);
    return withoutPods(memory, [action]);
  }
  return withPods(snapshot, secret, memory, now);
}

/**
 * A pause also holds the first installation, and the next one after a withdrawal. If somebody
 * deleted or edited global-pull-secret, it is published again only if the content is known to be
 * the same: otherwise it may be a change that the pause is to hold.
 */
const isHeld = ({ isPaused, secret, template, wanted }: Snapshot): boolean =>
  isPaused &&
  wanted.intent === "apply" &&
  ((secret === undefined && !wanted.isKnown) ||
    (template === undefined && secret?.intent !== "apply"));

const heldView: View = { ...idleView, pending: "paused" };

/** Before the first publication, and after the last pod. */
function withoutPods(memory: Memory, actions: Decision["actions"]): Decision {
  return {
    actions,
    memory,
    reads: { nodes: new Set(), all: false },
    again: actions.length > 0 ? 1 : Number.POSITIVE_INFINITY,
    view: idleView,
  };
}

function withPods(snapshot: Snapshot, secret: SecretFacts, memory: Memory, now: Now): Decision {
  const look = new Look(snapshot, secret, memory, now);
  const newer = run(look);
  const list = listingOf(look, memory);
  const podless = seePodless(snapshot, memory, now);
  const view: View = viewOf(look, podless, newer);
  if (look.actions.length > 0) look.lookIn(1);
  const reads: Reads = { nodes: look.readNodes, all: look.readAll };
  return {
    actions: look.actions,
    memory: { pods: look.seen, places: look.places, podless, raised: look.raised, list },
    reads,
    again: look.again,
    view,
  };
}

/** The steps. */
function run(look: Look): Newer {
  const newer = newerOf(look);
  recordNews(look, settlePlaces(look));
  if (steer(look)) return newer;
  takeBack(look);
  if (publishNewer(look, newer)) return newer;
  if (newer.waitsFor !== undefined) look.lookIn(newer.waits);
  if (look.snapshot.template?.isCurrent === false) {
    look.actions.push({ kind: "write-template" });
    return newer;
  }
  replacePods(look);
  // Newer content stops further grants. A withdrawal has been published by now.
  if (newer.cause === undefined && (!look.state.halted || look.isRelease())) fillWindow(look);
  raiseSync(look);
  promote(look, newer);
  completeWithdrawal(look);
  return newer;
}

/** Seconds for which fewer or more pods than desired must exist before Nodes are listed. */
const differsSeconds = 20;
/** Seconds between two lists of Nodes while something changes, and while nothing does. */
const listSeconds = { changing: 60, same: 600 } as const;

/** Whether all Nodes must be listed to find those without a pod, and what to remember of it. */
function listingOf(look: Look, { list, podless }: Memory): Memory["list"] {
  const { snapshot, now, byNode } = look;
  const difference = snapshot.desired - byNode.size;
  if (snapshot.nodes.all)
    return {
      since: difference === 0 ? undefined : (list.since ?? now.steady),
      at: now.steady,
      difference,
    };
  if (difference === 0) return { ...list, since: undefined };
  const since = list.since ?? now.steady;
  const isSettled =
    list.difference === difference &&
    [...podless.values()].every(({ at }) => now.steady - at >= 60);
  const pause = isSettled ? listSeconds.same : listSeconds.changing;
  const due = Math.max(since + differsSeconds, list.at === undefined ? 0 : list.at + pause);
  if (now.steady >= due) look.readAll = true;
  else look.lookIn(due - now.steady);
  return { ...list, since };
}

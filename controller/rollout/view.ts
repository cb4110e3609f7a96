/** What status is derived from: each node's fate, with a reason if it is not served. Pure. */
import type { Fate, Listed, View } from "./decision.ts";
import { holdsNewest } from "./facts.ts";
import type { JudgedPod, Look } from "./survey.ts";
import type { Memory } from "./memory.ts";
import { pendingOf, type Newer } from "./publish.ts";
import { absenceSeconds, isAway, isRefused } from "./node-state.ts";
import { isAlone } from "./budget.ts";

const noCounts: Readonly<Record<Fate, number>> = {
  current: 0,
  changing: 0,
  waiting: 0,
  starting: 0,
  failed: 0,
  excused: 0,
};

/** The view while no content is published. */
export const idleView: View = {
  phase: "idle",
  counts: noCounts,
  excused: [],
  failed: [],
  failures: 0,
  refused: [],
  kept: [],
  places: 0,
  pending: "no",
};

/** The view of one look, with the Nodes that have been without a pod for 60 s. */
export function viewOf(look: Look, podless: Memory["podless"], newer: Newer): View {
  const counts = { ...noCounts };
  const lists: { failed: Listed[]; excused: Listed[] } = { failed: [], excused: [] };
  const refused: string[] = [];
  const kept: { node: string; why: string }[] = [];
  for (const one of look.byNode.values()) {
    const { node, waitingReason } = one.pod;
    const { fate, reason } = fateOf(look, one);
    counts[fate] += 1;
    if ((fate === "failed" || fate === "excused") && reason !== undefined)
      lists[fate].push({ node, reason, waitingReason, ...refusalOf(one, reason) });
    if (one.seen.refused !== undefined) refused.push(node);
    // Nothing is wanted of a pod that is as it should be.
    if (one.seen.kept !== undefined && !one.pod.isCurrent)
      kept.push({ node, why: one.seen.kept.why });
  }
  for (const { node, at } of podless.values()) {
    const left = absenceSeconds - (look.now.steady - at);
    if (left > 0) look.lookIn(left);
    else lists.excused.push({ node, reason: "podless", waitingReason: undefined });
  }
  return {
    phase: phaseOf(look),
    counts,
    ...lists,
    failures: look.state.failed.length,
    refused,
    kept,
    places: look.taken.size,
    pending: pendingOf(newer),
  };
}

const refusalOf = ({ seen }: JudgedPod, reason: Listed["reason"]): Pick<Listed, "why"> =>
  reason === "admission" && seen.refused !== undefined ? { why: seen.refused.why } : {};

function phaseOf(look: Look): View["phase"] {
  if (look.isRelease()) return "withdrawal";
  if (look.state.halted) return "halted";
  if (look.isPromoted()) return "served";
  return isAlone(look) ? "canary" : "rollout";
}

type Found = Readonly<{ fate: Fate; reason?: Listed["reason"] }>;

function fateOf(look: Look, { pod, seen, verdict }: JudgedPod): Found {
  const over = seen.over?.revision === look.secret.revision ? seen.over : undefined;
  // That its agent has not answered since is the same failure.
  if (over?.is === "failed" && verdict.is === "excused")
    return { fate: "failed", reason: over.because };
  if (verdict.is === "failed" || verdict.is === "excused")
    return { fate: verdict.is, reason: verdict.because };
  if (verdict.is === "proved" && holdsNewest(pod, look.secret)) return { fate: "current" };
  // Also in the look in which it is tried again.
  if (isRefused(seen, look.now)) return { fate: "excused", reason: "admission" };
  if (look.taken.has(pod.node) && verdict.is !== "back") return { fate: "changing" };
  if (over !== undefined) return { fate: over.is, reason: over.because };
  const ofWord = outcomeOfWord(look, pod);
  if (ofWord !== undefined) return ofWord;
  if (verdict.is === "back") return { fate: "changing" };
  if (isAway(seen, look.now)) return { fate: "excused", reason: "away" };
  return { fate: pod.ready.is ? "waiting" : "starting" };
}

/** After a restart of the controller, the word of a grant that was taken back still explains it. */
function outcomeOfWord(look: Look, { grant, word }: JudgedPod["pod"]): Found | undefined {
  if (grant?.revision !== 0 || word?.revision !== look.secret.revision) return undefined;
  if (word.kind === "proved") return undefined;
  return word.kind === "failed"
    ? { fate: "failed", reason: "word" }
    : { fate: "excused", reason: word.kind };
}

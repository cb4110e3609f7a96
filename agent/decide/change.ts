/**
 * config.json has to be written: when that may begin, and what the journal says before it does.
 * Pure.
 */
import { boundTo } from "../facts/bound-unit.ts";
import type { Facts } from "../facts/facts.ts";
import { callsWithin, firstJournal, isAtRest, type Journal } from "../journal/journal.ts";
import { unitMissing } from "../restart/restart.ts";
import { preflight } from "./preflight.ts";
import { type Found, leftBy, type Plan } from "../delivery/delivery.ts";
import { givesBack } from "../delivery/gives-back.ts";
import type { Document } from "../delivery/mounted.ts";
import { isStopped } from "../facts/kubelet-state.ts";
import { type Answer, ask, named, refuse, soon, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/**
 * What is not ours yet may still be written by another program; then it is written, on a node that
 * is fit for it.
 */
export function change(
  facts: Facts,
  known: Journal | undefined,
  found: Found,
  document: Document,
  planned: Plan,
): Answer {
  const journal = known ?? begun(facts, planned);
  if (found.healed !== undefined && facts.steady.file < 2000)
    return wait(codes.unreadable, 500, found.healed);
  if (facts.unit === undefined) return ask("fitness");
  const drift = journal.content === document.content && journal.phase === "applied";
  const matters = drift ? restartsFor(facts, journal, document, planned) : planned.matters;
  // A drift that needs no restart needs nobody to be asked.
  const unfit =
    drift && !matters ? undefined : isAtRest(journal) ? preflight(facts) : unitMissingFor(facts);
  if (unfit !== undefined) return unfit;
  // Written all the same, it could not be read again by us, and never be taken back.
  if (planned.excess !== undefined)
    return (isAtRest(known) ? refuse : wait)(codes.unsafe, soon, `it would have ${planned.excess}`);
  const code = drift ? codes.drifted : codes.toBeWritten;
  if (facts.writeIn > 0) return wait(code, facts.writeIn);
  const undo = undoOf(journal, found, document, drift);
  const left = leftBy(planned);
  const { undo: _undo, renamed, left: _left, quarantine, ...rest } = journal;
  const next: Journal = {
    ...rest,
    ...named(planned, document),
    owned: planned.meanwhile,
    ...boundTo(facts),
    phase: "applying",
    matters: (journal.phase === "applying" && journal.matters) || matters,
    // Attempts are counted for one content.
    ...(journal.content !== document.content && { tried: 0, called: false }),
    ...(undo !== undefined && { undo }),
    ...(left !== undefined && { left }),
    // Whoever was left to read the file again has still to do so, and later if there is more to be
    // learned.
    ...(renamed !== undefined && !matters && { renamed }),
    // A rollback that nobody heard of is overtaken.
    ...(quarantine !== undefined && { quarantine: { ...quarantine, told: true } }),
  };
  return { action: "apply", code, ready: false, again: 0, journal: next, plan: planned, found };
}

/** The journal of a node that is written to for the first time, as far as anybody knows. */
function begun(facts: Facts, { before }: Plan): Journal {
  const first = firstJournal(before);
  return facts.lost ? { ...first, unverified: true } : first;
}

/**
 * A change under way is written anew, even if the kubelet is down; but not where the restart cannot
 * be asked for.
 */
function unitMissingFor(facts: Facts): Step | undefined {
  return facts.config.restart === "Always" ? unitMissing(facts) : undefined;
}

/**
 * Whether a drift that is put right costs a restart. Another program that keeps taking our entries
 * out must not keep restarting the kubelet, which re-reads in 5 minutes; one that is stopped is not
 * ours to start, and reads the file when it is; and under a hold no kubelet of a node in force is
 * restarted.
 */
function restartsFor(
  facts: Facts,
  journal: Journal,
  { intent }: Document,
  { matters }: Plan,
): boolean {
  const tired = callsWithin(journal, facts.now, 3_600_000) >= 3;
  return matters && !tired && intent !== "hold" && !isStopped(facts);
}

/**
 * Where a rollback would go. A drift that is put right has none: the content is proved, the drift
 * is not wanted. Nor has what takes credentials back: they would be on the node again, and what a
 * file lacks keeps no kubelet from starting.
 */
function undoOf(
  journal: Journal,
  found: Found,
  document: Document,
  drift: boolean,
): Journal["undo"] {
  if (drift || givesBack(document)) return undefined;
  if (journal.phase !== "applied") return journal.undo;
  const { owned, revision, digest, content } = journal;
  return { file: found.now, owned, revision, digest, content };
}

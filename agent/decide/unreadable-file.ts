/** What is owed to a kubelet while config.json cannot be read or written. Pure. */
import type { Facts } from "../facts/facts.ts";
import { stateOf } from "../facts/kubelet-state.ts";
import { isIdle, type Journal } from "../journal/journal.ts";
import { byTable } from "../restart/phases.ts";
import type { FoundFile } from "../delivery/delivery.ts";
import { type Answer, atOnce, fast, refuse, soon, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/** config.json cannot be read or replaced: a kubelet still gets the restart that it is owed. */
export function unreadable(facts: Facts, journal: Journal | undefined, file: Unreadable): Answer {
  const told = whyUnreadable(file);
  if (journal === undefined || journal.phase === "applied")
    return file.kind === "changing" ? told : refuse(codes.unsafe, soon, file.why);
  const step = owed(facts, journal);
  return step === undefined ? told : { ...step, ready: false };
}

/** What comes next of a restart that is owed; undefined where none is. */
function owed(facts: Facts, journal: Journal): Answer | undefined {
  if (journal.phase !== "applying") return byTable(facts, journal);
  // With `owed`, the file was being written again between attempts: the kubelet may be down.
  if (journal.owed === undefined) return undefined;
  return byTable(facts, { ...journal, phase: "restarting" });
}

/**
 * What comes next where config.json is not to be written for now, as `otherwise` says. A kubelet
 * that is down and owed a restart gets it, with the file as it is: what keeps us from writing keeps
 * no kubelet from running.
 */
export function startMeanwhile(
  facts: Facts,
  journal: Journal | undefined,
  otherwise: Step,
): Answer {
  if (journal === undefined || isIdle(journal)) return otherwise;
  if (facts.config.restart === "Never") return otherwise;
  const step = stateOf(facts, journal) === "down" ? owed(facts, journal) : undefined;
  return step === undefined || step.action === "wait" ? otherwise : { ...step, ready: false };
}

type Unreadable = Exclude<Facts["file"], FoundFile>;

export function isFound(file: Facts["file"]): file is FoundFile {
  return file.kind === "file" || file.kind === "absent";
}

function whyUnreadable(file: Unreadable): Step {
  return file.kind === "changing"
    ? wait(codes.changedMeanwhile, fast)
    : wait(codes.unsafe, soon, file.why);
}

/** The previous file cannot be put back for now: the kubelet is revived with the present one. */
function reviveMeanwhile(facts: Facts, journal: Journal, otherwise: Step): Answer {
  if (facts.config.restart === "Never") return otherwise;
  const step = byTable(facts, { ...journal, phase: "reviving" });
  if (step.action !== "restart") return otherwise;
  return { ...step, journal: { ...step.journal, phase: "restoring" }, unasked: journal };
}

/** Puts the previous file back; while that is impossible, the kubelet is revived. */
export function restoring(facts: Facts, journal: Journal, found: Facts["file"]): Answer {
  if (!isFound(found)) return reviveMeanwhile(facts, journal, whyUnreadable(found));
  const planned = found.planRestore(journal);
  if (!planned.changed) return byTable(facts, journal);
  const restore: Step = atOnce({ action: "restore", code: codes.notBack, plan: planned, found });
  return facts.unwritable ? reviveMeanwhile(facts, journal, restore) : restore;
}

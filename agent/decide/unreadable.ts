/**
 * What is owed to a kubelet while config.json cannot be told, or the previous one not be put back.
 * Pure.
 */
import type { Facts } from "../facts/facts.ts";
import type { Journal } from "../journal/journal.ts";
import { byTable } from "../restart/phases.ts";
import type { Found } from "../delivery/delivery.ts";
import { type Answer, fast, refuse, soon, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

/**
 * config.json cannot be told or not be replaced: a kubelet that is owed a restart gets it all the
 * same.
 */
export function unreadable(facts: Facts, journal: Journal | undefined, file: Unreadable): Answer {
  const told = whyUnreadable(file);
  if (journal === undefined || journal.phase === "applied")
    return file.kind === "changing" ? told : refuse(codes.unsafe, soon, file.why);
  // Written again while attempts are made: whether that came to pass or not, the kubelet may be
  // down.
  if (journal.phase === "applying" && journal.owed === undefined) return told;
  const step = byTable(
    facts,
    journal.phase === "applying" ? { ...journal, phase: "restarting" } : journal,
  );
  return { ...step, ready: false };
}

type Unreadable = Exclude<Facts["file"], Found>;

export function isFound(file: Facts["file"]): file is Found {
  return file.kind === "file" || file.kind === "absent";
}

function whyUnreadable(file: Unreadable): Step {
  return file.kind === "changing"
    ? wait(codes.changedMeanwhile, fast)
    : wait(codes.unsafe, soon, file.why);
}

/**
 * The previous file cannot be put back for now: until then at least the kubelet is to run, with
 * whatever file there is.
 */
function reviveMeanwhile(facts: Facts, journal: Journal, otherwise: Step): Answer {
  if (facts.config.restart === "Never") return otherwise;
  const step = byTable(facts, { ...journal, phase: "reviving" });
  if (step.action !== "restart") return otherwise;
  return { ...step, journal: { ...step.journal, phase: "restoring" }, unasked: journal };
}

/** The previous file is put back; if it cannot be for now, the kubelet is to run meanwhile. */
export function restoring(facts: Facts, journal: Journal, found: Facts["file"]): Answer {
  if (!isFound(found)) return reviveMeanwhile(facts, journal, whyUnreadable(found));
  const planned = found.planRestore(journal);
  if (!planned.changed) return byTable(facts, journal);
  const restore: Step = {
    action: "restore",
    code: codes.notBack,
    ready: false,
    again: 0,
    plan: planned,
    found,
  };
  return facts.unwritable ? reviveMeanwhile(facts, journal, restore) : restore;
}

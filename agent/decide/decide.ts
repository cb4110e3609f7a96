/**
 * Decides the agent's next action. Pure. Returns one action with its reason, or requests the facts
 * about the kubelet.
 *
 * The order of the rules: what a node without a journal does; then the file, in every phase: what
 * other programs did is kept, what leaves leaves at once, and a drift is repaired; then the
 * credential provider's answer and containerd's hosts.toml; then the table of phases.ts. While the
 * disk cannot be written, nothing of this is done, but a dead kubelet is started.
 */
import { overlay } from "../delivery/config-json/overlay.ts";
import { answerFor } from "../delivery/provider/places.ts";
import { changesFor } from "../delivery/runtime/plan.ts";
import type { Facts } from "../facts/facts.ts";
import { stateOf } from "../facts/kubelet-state.ts";
import { type Journal, resting } from "../journal/journal.ts";
import {
  type Answer,
  ask,
  atOnce,
  codes,
  fast,
  journalOf,
  record,
  refuse,
  resync,
  soon,
  type Step,
  wait,
} from "../facts/step.ts";
import { fileStep, isReleased, isSettled, leaving, nextJournal } from "./file.ts";
import { firstContact } from "./first.ts";
import { byTable, hasRead } from "./phases.ts";

export function decide(facts: Facts): Answer {
  const step = unhindered(facts);
  const { journal: reading, blocked } = facts;
  const isWriting = step.action !== "wait" && step.action !== "nothing" && step.action !== "ask";
  if (blocked === undefined || !isWriting) return step;
  const isReported = isReleased(facts.contents) || beginsOrder(facts, step);
  const hindered = (isReported ? refuse : wait)(codes.fileFailed, soon, blocked);
  return reading.kind === "journal" ? startDead(facts, reading.journal, hindered) : hindered;
}

/** The step, if the disk can be written. */
function unhindered(facts: Facts): Answer {
  const { journal: reading } = facts;
  if (!facts.alone) return wait(codes.otherAgent, soon);
  if (reading.kind === "other version") return refuse(codes.otherJournal, resync, reading.why);
  if (reading.kind === "corrupt")
    return atOnce({ action: "set aside", code: codes.journalUnreadable, detail: reading.why });
  if (reading.kind === "none") return firstContact(facts);
  const { journal } = reading;
  if (facts.vanished) return record(codes.journalVanished, journal, journal);
  const otherwise = whyNotFile(facts, journal);
  // A credential that leaves still leaves the other places.
  if (otherwise !== undefined)
    return besideStep(facts, leaving(facts, journal)) ?? startDead(facts, journal, otherwise);
  const next = nextJournal(facts, journal);
  const step = fileStep(facts, journal, next) ?? besideStep(facts, next);
  if (step !== undefined) return step.action === "wait" ? startDead(facts, journal, step) : step;
  if (facts.config.restart === "Never" && next.phase !== "resting") {
    const failed = next.phase === "reviving" ? next.failed : "";
    return record(codes.toBeReread, resting(next, failed), journal);
  }
  return byTable(facts, next);
}

/** Why config.json cannot be compared or replaced now; undefined if it can. */
function whyNotFile(facts: Facts, journal: Journal): Step | undefined {
  const { file, contents } = facts;
  if (file.kind === "changing") return wait(codes.changedMeanwhile, fast);
  if (file.kind === "refused") {
    const isRefused = journal.phase === "resting" || isReleased(contents);
    return (isRefused ? refuse : wait)(codes.unsafe, soon, file.why);
  }
  if (isSettled(facts, overlay(journal.theirs, journal.content))) return undefined;
  return wait(codes.unreadable, 500, file.unreadable ?? "it is missing");
}

/** Starts a dead kubelet with the file and the journal as they are; otherwise, the other step. */
function startDead(facts: Facts, journal: Journal, otherwise: Step): Answer {
  if (journal.phase === "resting" || facts.config.restart === "Never") return otherwise;
  if (facts.kubelet === undefined) return ask;
  if (stateOf(facts, journal) !== "dead") return otherwise;
  const step = byTable(facts, journal);
  return step.action === "restart" ? step : otherwise;
}

/** Whether the step takes the content of an order, so that its failure answers the order. */
function beginsOrder({ journal: reading }: Facts, step: Step): boolean {
  const next = journalOf(step);
  const present = reading.kind === "journal" ? reading.journal.content.revision : 0;
  return next !== undefined && next.content.revision !== present;
}

/** Writes the provider's answer or containerd's files, if they are not what they must be. */
function besideStep(facts: Facts, { phase, content, written }: Journal): Step | undefined {
  const { installed, config, runtime, writeIn } = facts;
  const isRead = phase === "resting" && hasRead(facts, { written });
  const bytes = answerFor(content, installed, config.scope, isRead);
  const code = codes.toBeWritten;
  if (bytes !== undefined)
    return atOnce({ action: "answer", code, answer: { bytes, expected: installed.identity } });
  const hosts = changesFor(content, runtime, config.isRuntime, isRead);
  if (hosts.length === 0) return undefined;
  // A program that takes out our lines must not make both write without end.
  if (!hosts.some(({ isRemoval }) => isRemoval) && writeIn > 0) return wait(codes.drifted, writeIn);
  return atOnce({ action: "hosts", code, hosts });
}

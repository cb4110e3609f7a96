/**
 * The agent's decisions: facts → one action with its reason, or what has to be known first, so that
 * nobody is asked for what no rule needs. Pure. A chain of rules, each of which
 * decides or passes on; read from top to bottom it is the order of precedence: what owes a running
 * kubelet, then the file, then the document. What follows once the file is as it should be is a
 * table (phases.ts).
 */
import { change } from "./change.ts";
import { boundTo, rebound } from "../facts/bound-unit.ts";
import type { Facts } from "../facts/facts.ts";
import { held, isKept } from "./hold.ts";
import { firstJournal, isAtRest, type Journal } from "../journal/journal.ts";
import { givesBack } from "../delivery/gives-back.ts";
import type { Document, Mounted } from "../delivery/mounted.ts";
import { byTable, inForce } from "../restart/phases.ts";
import type { Found, Plan } from "../delivery/delivery.ts";
import { observe, preflight } from "./preflight.ts";
import { isQuarantined, quarantined, undone } from "../restart/quarantine.ts";
import { isOurs, ours } from "../facts/revision.ts";
import { orStale } from "./stale.ts";
import { stateOf } from "../facts/kubelet-state.ts";
import {
  type Answer,
  ask,
  fast,
  named,
  record,
  refuse,
  resync,
  soon,
  type Step,
  wait,
} from "../facts/step.ts";
import { isFound, restoring, unreadable } from "./unreadable.ts";
import { codes } from "../facts/problems.ts";

export function decide(facts: Facts): Answer {
  return orStale(facts, chain(facts));
}

function chain(facts: Facts): Answer {
  const { config, file, mounted } = facts;
  if (config.revision === 0) return observe(facts);
  if (!facts.alone) return wait(codes.otherAgent, soon);
  if (facts.journal.kind === "newer") return newer(facts, facts.journal);
  if (facts.journal.kind === "corrupt")
    return {
      action: "set aside",
      code: codes.journalUnreadable,
      detail: facts.journal.why,
      ready: false,
      again: 0,
    };
  const journal =
    facts.journal.kind === "journal" ? rebound(facts.journal.journal, facts.unit) : undefined;
  if (!isAtRest(journal) && facts.unit === undefined) return ask("kubelet");
  // Older agents left the undoing of the journal to the end of the revival.
  if (journal?.phase === "reviving") return byTable(facts, undone(facts, journal));
  // A rollback goes where it went; with the largest files there is no memory for the document.
  if (journal?.phase === "restoring") return restoring(facts, journal, file);
  if (mounted === undefined) return ask("mounted");
  const document = ours(facts);
  if (document?.intent === "release" && isUntouched(facts)) return untouched(facts);
  if (!isFound(file)) return unreadable(facts, journal, file);
  if (document === undefined) return withoutDocument(facts, mounted, journal, file);
  const keeps = isKept(journal, document);
  if (isQuarantined(facts, journal, document) && !(keeps && journal.quarantine.told))
    return quarantined(journal);
  if (keeps) return held(facts, journal, file, document);
  const planned = file.plan(journal, document, facts.lost);
  if (planned.changed) return change(facts, journal, file, document, planned);
  return standing(facts, journal, file, document, planned);
}

/**
 * Nothing of ours was ever there: what the node's file is like is no matter of a withdrawal, and
 * nothing waits for the node.
 */
function untouched({ healthy }: Facts): Answer {
  if (healthy === undefined) return ask("healthz");
  return healthy
    ? { action: "nothing", code: codes.withdrawn, ready: true, again: resync }
    : refuse(codes.kubeletSilent, soon);
}

function isUntouched({ journal, lost, left }: Facts): boolean {
  return journal.kind === "none" && !lost && !left;
}

/** Nothing of it is ours to write; but a kubelet that its writer left down is started. */
function newer(facts: Facts, { why, owes }: Extract<Facts["journal"], { kind: "newer" }>): Answer {
  const mayStart = owes && facts.config.restart === "Always";
  if (mayStart && facts.unit === undefined) return ask("kubelet");
  const down = mayStart && stateOf(facts, { phase: "reviving" }) === "down";
  if (!down) return { ...wait(codes.newerJournal, resync, why), ...(!owes && { refused: true }) };
  if (facts.sinceRestart < 60_000) return wait(codes.newerJournal, soon, why);
  const { unit } = boundTo(facts);
  if (unit === undefined) return wait(codes.newerJournal, soon, why);
  return {
    action: "revive",
    code: codes.newerJournal,
    detail: `${why}; ${unit} is down`,
    ready: false,
    again: fast,
    unit,
  };
}

/** Without our revision's document nothing new is begun, but a restart that is owed is made. */
function withoutDocument(
  facts: Facts,
  mounted: Mounted,
  journal: Journal | undefined,
  file: Found,
): Answer {
  if (journal?.phase === "restarting" || journal?.phase === "settling") {
    const step = byTable(facts, journal);
    return file.holds(journal.owned) ? step : { ...step, ready: false };
  }
  const { config } = facts;
  if (journal?.phase === "applied" && isOurs(journal, config) && file.holds(journal.owned))
    return byTable(facts, journal);
  if (mounted.kind === "incomplete") return wait(codes.incomplete, soon, mounted.why);
  if (mounted.revision !== config.revision)
    return wait(codes.otherRevision, soon, `mounted ${mounted.revision}, ours ${config.revision}`);
  if (mounted.kind === "document")
    return wait(codes.otherRevision, soon, `mounted ${mounted.revision} with another content`);
  return wait(codes.secretRefused, resync, mounted.kind === "refused" ? mounted.why : undefined);
}

/** config.json is as it should be. */
function standing(
  facts: Facts,
  journal: Journal | undefined,
  found: Found,
  document: Document,
  planned: Plan,
): Answer {
  if (journal === undefined) return withoutJournal(facts, found, document, planned);
  const current = named(planned, document);
  // Now that the file is in place, what it lacks is no longer ours.
  if (journal.phase === "applying") return byTable(facts, { ...journal, ...current });
  const { owned, revision, digest, content } = journal;
  if (JSON.stringify(current) !== JSON.stringify({ owned, revision, digest, content }))
    return record(codes.toBeWritten, { ...journal, ...current });
  if (journal.phase === "applied" && givesBack(document)) {
    const doubt = journal.unverified === true && facts.lost && found.isUnexplained(document);
    return doubt ? unverified : leave(document);
  }
  return byTable(facts, journal);
}

/** Nothing of ours is known to be there. */
function withoutJournal(facts: Facts, found: Found, document: Document, planned: Plan): Answer {
  if (givesBack(document)) {
    if (!facts.lost && facts.left) return leave(document);
    if (document.intent === "hold") return inForce(facts, codes.held);
    if (found.isUnexplained(document)) return unverified;
  }
  const first = { ...firstJournal(planned.before), ...named(planned, document) };
  if (!facts.lost) return record(codes.toBeWritten, first);
  // Nobody knows whether a restart was owed.
  return (
    preflight(facts) ??
    record(codes.toBeWritten, { ...first, ...boundTo(facts), phase: "applying", matters: true })
  );
}

function leave({ intent }: Document): Step {
  return {
    action: "leave",
    code: intent === "hold" ? codes.held : codes.withdrawn,
    ready: false,
    again: 0,
  };
}

/** Withdrawn as far as anybody knows, which is not said to be withdrawn. */
const unverified = wait(codes.withdrawnInDoubt, soon);

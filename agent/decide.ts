/**
 * The agent's decisions: facts → one action with its reason. Pure. A chain of rules, each of which decides or passes on;
 * read from top to bottom it is the order of precedence.
 */
import type { Facts } from "./facts.ts";
import { callsWithin, firstJournal, type Journal } from "./journal.ts";
import { confirmed, restartUntilProved, settle, unitMissing, unitUnavailable } from "./kubelet.ts";
import { excess } from "./nodefile.ts";
import { type Document, type Found, type Plan, plan, planRestore, previous } from "./plan.ts";
import { isQuarantined, quarantined } from "./quarantine.ts";
import { fast, record, resync, soon, type Step, wait } from "./step.ts";
import { holds } from "./threeway.ts";

export function decide(facts: Facts): Step {
  const { config, file } = facts;
  if (config.revision === 0) return { action: "nothing", code: "GPS201", ready: true, again: resync };
  if (!facts.alone) return wait("GPS205", soon, `127.0.0.1:${config.probePort}`);
  if (facts.journal.kind === "newer") return wait("GPS222", resync, facts.journal.why);
  if (facts.journal.kind === "corrupt")
    return { action: "set aside", code: "GPS223", detail: facts.journal.why, ready: false, again: 0 };
  if (file.kind === "changing") return wait("GPS209", fast);
  if (file.kind === "refused") return wait("GPS206", soon, file.why);
  const journal = facts.journal.kind === "journal" ? facts.journal.journal : undefined;
  if (journal?.phase === "restoring") return restoring(facts, journal, file);
  if (journal?.phase === "reviving") return restartUntilProved(facts, journal);
  const document = ours(facts);
  if (document === undefined) return withoutDocument(facts, journal, file);
  if (isQuarantined(facts, journal, document)) return quarantined(journal);
  const planned = plan(file, journal, document, facts.lost);
  if (planned.changed) return change(facts, journal ?? firstJournal(planned.before), file, document, planned);
  return standing(facts, journal, document, planned);
}

/** Without our revision's document nothing new is begun, but a restart that is owed is made. */
function withoutDocument(facts: Facts, journal: Journal | undefined, file: Found): Step {
  if (journal?.phase === "restarting") return restartUntilProved(facts, journal);
  if (journal?.phase === "settling") {
    const step = settle(facts, journal);
    return { ...step, ready: step.ready && holds(file.document, journal.owned) };
  }
  const { mounted, config } = facts;
  if (journal?.phase === "applied" && journal.revision === config.revision && holds(file.document, journal.owned))
    return inForce(facts, "GPS200");
  if (mounted.kind === "incomplete") return wait("GPS202", soon, mounted.why);
  if (mounted.revision !== config.revision)
    return wait("GPS203", soon, `mounted ${mounted.revision}, ours ${config.revision}`);
  return wait("GPS204", resync, mounted.kind === "refused" ? mounted.why : undefined);
}

/** config.json has to be written: only where systemd can be asked, since a restart will be owed. */
function change(facts: Facts, journal: Journal, found: Found, document: Document, planned: Plan): Step {
  if (found.kind === "file" && found.healed !== undefined && facts.steady.file < 2000)
    return wait("GPS207", 500, found.healed);
  if (facts.config.restart === "Always") {
    const missing = unitMissing(facts);
    if (missing !== undefined) return missing;
  }
  // Written all the same, it could not be read again by us, and never be taken back.
  const much = "absent" in planned.file ? undefined : excess(planned.file.bytes);
  if (much !== undefined) return wait("GPS206", soon, `it would have ${much}`);
  const drift = journal.content === document.content && journal.phase === "applied";
  if (facts.writeIn > 0) return wait(drift ? "GPS225" : "GPS226", facts.writeIn);
  const { undo: kept, ...rest } = journal;
  const undo = journal.phase === "applied" ? undoOf(journal, found, drift) : kept;
  const next: Journal = {
    ...rest,
    ...named(planned, document),
    phase: "applying",
    matters:
      (journal.phase === "applying" && journal.matters) || (planned.matters && !(drift && tired(facts, journal))),
    // Attempts are counted for one content.
    ...(journal.content !== document.content && { tried: 0, called: false }),
    ...(undo !== undefined && { undo }),
  };
  return {
    action: "apply",
    code: drift ? "GPS225" : "GPS226",
    ready: false,
    again: 0,
    journal: next,
    plan: planned,
    found,
  };
}

const leave: Step = { action: "leave", code: "GPS224", ready: false, again: 0 };

/** config.json is as it should be. */
function standing(facts: Facts, journal: Journal | undefined, document: Document, planned: Plan): Step {
  if (journal === undefined) {
    if (document.release && !facts.lost) return facts.left ? leave : inForce(facts, "GPS224");
    const first = { ...firstJournal(planned.before), ...named(planned, document) };
    // After a lost journal nobody knows whether a restart was owed.
    return record("GPS226", facts.lost ? { ...first, phase: "applying", matters: true } : first);
  }
  if (journal.phase === "applying") return written(facts, journal);
  const current = named(planned, document);
  const { owned, revision, content } = journal;
  if (JSON.stringify(current) !== JSON.stringify({ owned, revision, content }))
    return record("GPS226", { ...journal, ...current });
  if (journal.phase === "restarting") return restartUntilProved(facts, journal);
  if (journal.phase === "settling") return settle(facts, journal, document.release);
  if (document.release) return leave;
  return inForce(facts, "GPS200");
}

/**
 * The file is in place. From now on only a process with another InvocationID has been started after it. Where the restart can
 * be asked for at once, its own record says so; a step between would cost a look and two syncs.
 */
function written(facts: Facts, journal: Journal): Step {
  if (facts.config.restart === "Never") return record("GPS200", confirmed(journal));
  if (!journal.matters && journal.owed === undefined) return record("GPS200", confirmed(journal));
  const unavailable = unitUnavailable(facts);
  if (unavailable !== undefined) return unavailable;
  const owed = journal.matters || journal.owed === undefined ? invocation(facts) : journal.owed;
  const restarting: Journal = { ...journal, phase: "restarting", owed };
  const step = restartUntilProved(facts, restarting);
  return step.action === "restart" ? step : record("GPS212", restarting);
}

function restoring(facts: Facts, journal: Journal, found: Found): Step {
  const planned = planRestore(found, journal);
  if (planned.changed)
    return { action: "restore", code: "GPS216", ready: false, again: 0, journal, plan: planned, found };
  const unavailable = unitUnavailable(facts);
  if (unavailable !== undefined) return unavailable;
  return record("GPS217", { ...journal, phase: "reviving", owed: invocation(facts), tried: 0, called: false });
}

function inForce(facts: Facts, code: "GPS200" | "GPS224"): Step {
  // At rest a kubelet that is down is not ours to start: an administrator may have stopped it.
  if (!facts.healthy) return wait("GPS221", soon);
  return { action: "nothing", code, ready: true, again: resync };
}

/** Where a rollback would go. A drift that is put right has none: the content is proved, the drift is not wanted. */
function undoOf(journal: Journal, found: Found, drift: boolean): Journal["undo"] {
  if (drift) return undefined;
  return { file: previous(found), owned: journal.owned, revision: journal.revision, content: journal.content };
}

/** Another program that keeps taking our entries out must not keep restarting the kubelet, which re-reads in 5 minutes. */
function tired(facts: Facts, journal: Journal): boolean {
  return callsWithin(journal, facts.now, 3_600_000) >= 3;
}

function named(planned: Plan, { revision, content }: Document): Pick<Journal, "owned" | "revision" | "content"> {
  return { owned: planned.owned as Journal["owned"], revision, content };
}

function ours({ mounted, config }: Facts): Document | undefined {
  return mounted.kind === "document" && mounted.revision === config.revision ? mounted : undefined;
}

function invocation({ unit }: Facts): string {
  return unit !== undefined && "invocation" in unit ? unit.invocation : "";
}

/** config.json has to be written: when that may begin, and what the journal says first. Pure. */
import { boundTo } from "../facts/bound-unit.ts";
import type { Facts } from "../facts/facts.ts";
import { granted, grantedKey, isOf } from "../facts/grant.ts";
import { callsWithin, firstJournal, isIdle, type Journal } from "../journal/journal.ts";
import { byTable } from "../restart/phases.ts";
import { unitMissing } from "../restart/restart.ts";
import { preflight } from "./preflight.ts";
import type { FoundFile, Plan } from "../delivery/delivery.ts";
import type { Document } from "../delivery/mount.ts";
import { type Answer, ask, atOnce, named, refuse, soon, type Step, wait } from "../facts/step.ts";
import { canRestart, isUnaskable, stateOf } from "../facts/kubelet-state.ts";
import { type Code, codes } from "../facts/problems.ts";
import { startMeanwhile } from "./unreadable-file.ts";

/**
 * The step towards writing config.json: what has to be known first, why it must wait, or `apply`. A
 * file that does not parse gets 2 s, because another program may still be writing it.
 */
export function change(
  facts: Facts,
  known: Journal | undefined,
  found: FoundFile,
  document: Document,
  planned: Plan,
): Answer {
  const journal = known ?? begun(facts, planned);
  if (found.healed !== undefined && facts.stopwatch.file < 2000)
    return wait(codes.unreadable, 500, found.healed);
  if (facts.unit === undefined) return ask("fitness");
  const same = journal.content === document.content;
  const drift = same && journal.phase === "applied";
  const lives = same && isStarted(facts, journal);
  const repairs = drift || (same && isRepairing(journal));
  const withdraws = document.intent === "release";
  const isOnItsOwn = withdraws && isLeftAlone(facts, journal, planned);
  const rereads = isOnItsOwn || isLeftToReread(facts, journal, planned, repairs, lives);
  const matters = planned.matters && !rereads;
  // What is withdrawn leaves the node, whatever the node lacks.
  const unfit =
    withdraws || (drift && !matters)
      ? undefined
      : isIdle(journal)
        ? preflight(facts, planned)
        : unitMissingFor(facts, journal, matters);
  if (unfit !== undefined) return unfit;
  const unable = (why: Code, detail: string): Answer =>
    startMeanwhile(facts, known, (isIdle(known) ? refuse : wait)(why, soon, detail));
  // Once written, we could never read it again, nor take it back.
  if (planned.excess !== undefined) return unable(codes.unsafe, `it would have ${planned.excess}`);
  const code = drift && !found.holds(journal.owned) ? codes.drifted : codes.toBeWritten;
  if (planned.unfit !== undefined) return unable(codes.providerUnfit, planned.unfit);
  // Spaced are writes of one content, which another program keeps changing.
  if (same && facts.writeIn > 0) {
    // Another mode takes nothing from the kubelet.
    const isWhole = drift && !withdraws && !planned.matters && found.holds(journal.owned);
    return isWhole ? atRest(facts, journal) : wait(code, facts.writeIn);
  }
  const undo = undoOf(journal, found, document, drift);
  const { left } = planned;
  const { undo: _undo, renamed, rereads: _rereads, left: _left, ...others } = journal;
  const { quarantine, grant: _grant, denied, owed, ...rest } = others;
  const granted = grantedKey(facts.grant);
  const next: Journal = {
    ...rest,
    ...named(planned, document),
    owned: planned.meanwhile,
    ...boundTo(facts),
    phase: "applying",
    matters: !isOnItsOwn && ((journal.phase === "applying" && journal.matters) || matters),
    ...(owed !== undefined && !isOnItsOwn && { owed }),
    // Attempts are counted for one content, and a process that lives is no failed one.
    ...(!same && { tried: 0, called: false }),
    ...(same && denied !== undefined && { denied }),
    ...(lives && matters && { tried: Math.max(0, journal.tried - 1), called: false }),
    ...(undo !== undefined && { undo }),
    ...(left !== undefined && { left }),
    ...(granted !== undefined && { grant: granted }),
    // A kubelet that has still to reread the file must do so; its time starts anew if there is more
    // to learn.
    ...(renamed !== undefined && !matters && !rereads && { renamed }),
    ...(rereads && { rereads: "" }),
    ...(!rereads && !matters && journal.rereads !== undefined && { rereads: journal.rereads }),
    // A rollback that was not reported yet is overtaken.
    ...(quarantine !== undefined && { quarantine: { ...quarantine, told: true } }),
  };
  // Without a journal nothing would tell of what a withdrawal could not take away.
  const isKept = isIdle(known) && (known !== undefined || !withdraws);
  const former = isKept && { former: { journal: known } };
  const apply: Step = atOnce({
    action: "apply",
    code,
    journal: next,
    plan: planned,
    found,
    ...former,
  });
  return facts.unwritable ? startMeanwhile(facts, known, apply) : apply;
}

/**
 * Whether the kubelet is left to read its file again after a withdrawal, because nobody can restart
 * it. A kubelet that may be down because of a change under way is still owed its restart.
 */
function isLeftAlone(facts: Facts, journal: Journal, { matters }: Plan): boolean {
  if (facts.config.restart !== "Always") return false;
  const owes = matters || journal.matters || journal.owed !== undefined;
  // Another kubelet reads the file, if any does.
  if (isIdle(journal)) return owes && (!canRestart(facts) || facts.elsewhere !== undefined);
  return owes && isUnaskable(facts) && facts.healthy === true;
}

/** In force, until config.json may be written again. */
function atRest(facts: Facts, journal: Journal): Answer {
  const answer = byTable(facts, journal);
  if (answer.action !== "nothing") return answer;
  return { ...answer, again: facts.writeIn };
}

/** The journal of a node that we write to for the first time, as far as is known. */
function begun(facts: Facts, { before }: Plan): Journal {
  const first = firstJournal(before);
  return facts.lost ? { ...first, unverified: true } : first;
}

/**
 * Why a change under way cannot be written again: the restart that it owes could not be asked for.
 * A kubelet that is down is no reason.
 */
function unitMissingFor(facts: Facts, journal: Journal, matters: boolean): Step | undefined {
  const owes = matters || journal.matters || journal.owed !== undefined;
  return owes && facts.config.restart === "Always" ? unitMissing(facts) : undefined;
}

/**
 * Whether the process runs that was started for this content: what another program does to the file
 * meanwhile is a drift, and no failure of that start.
 */
function isStarted(facts: Facts, journal: Journal): boolean {
  const isProving = journal.phase === "restarting" || journal.phase === "settling";
  return isProving && ["silent", "answering"].includes(stateOf(facts, journal));
}

/**
 * Whether the repair of a drift was cut off, or another program wrote the file first. A repair has
 * no undo, because it brings nothing new.
 */
function isRepairing({ phase, undo, matters, owed }: Journal): boolean {
  return phase === "applying" && undo === undefined && !matters && owed === undefined;
}

/**
 * A drift restarts no kubelet, which rereads the file by itself. A new grant does, and one under
 * way, but that not again and again: a program that keeps removing our entries must not keep
 * restarting the kubelet.
 */
function isLeftToReread(
  facts: Facts,
  journal: Journal,
  { matters }: Plan,
  repairs: boolean,
  lives: boolean,
): boolean {
  if (!matters || facts.config.restart !== "Always") return false;
  if (repairs) return granted(facts.grant) === undefined || isOf(journal, facts.grant);
  return lives && callsWithin(journal, facts.now, 3_600_000) >= 3;
}

/**
 * What a rollback would restore. Nothing for a repaired drift, whose content is proved already. And
 * nothing for a withdrawal: it would put the credentials back, and a missing entry keeps no kubelet
 * from starting.
 */
function undoOf(
  journal: Journal,
  found: FoundFile,
  document: Document,
  drift: boolean,
): Journal["undo"] {
  if (drift || document.intent === "release") return undefined;
  if (journal.phase !== "applied") return journal.undo;
  const { owned, revision, digest, content } = journal;
  return { file: found.now, owned, revision, digest, content };
}

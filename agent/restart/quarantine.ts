/**
 * Quarantine: a content that failed on this node is not tried again under the same grant; what the
 * node took without a grant is tried again after a time. Pure.
 */
import { grantedKey } from "../facts/grant.ts";
import type { Facts } from "../facts/facts.ts";
import { callsWithin, confirmed, type Journal } from "../journal/journal.ts";
import type { Document } from "../delivery/mount.ts";
import { tell, atOnce, record, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

const first = 600_000;
const longest = 21_600_000;
/**
 * We restart a bad kubelet at most four times an hour. A retry needs two: its own, and the
 * rollback's.
 */
const restartsPerHour = 4;

/**
 * The quarantine after one more rollback: 10 min, doubled by each failure of the content, to 6 h.
 */
function quarantineFor({ now }: Facts, journal: Journal): NonNullable<Journal["quarantine"]> {
  const { revision, content, quarantine, grant, denied } = journal;
  const failures = quarantine?.content === content ? quarantine.failures + 1 : 1;
  const lasts = Math.min(longest, first * 2 ** Math.min(failures - 1, 10));
  const named = grant === undefined ? {} : { grant };
  const why = denied === undefined ? {} : { why: denied.why };
  return { revision, content, failures, since: now, lasts, told: false, ...named, ...why };
}

/**
 * The journal at the moment when the previous file is back: what was ours then is ours again, and
 * the failed content is quarantined. Its time starts anew when the kubelet is proved. The answer
 * lies beside that file and stays: still ours, or no withdrawal would empty it.
 */
export function undone(facts: Facts, journal: Journal): Journal {
  const { undo, settling: _settling, renamed: _renamed, ...rest } = journal;
  if (undo === undefined) return journal;
  const { revision, digest, content } = undo;
  const { answer } = journal.owned;
  const before = "undone" in facts.file ? facts.file.undone(journal) : undo.owned;
  const owned = { ...(answer !== undefined && { answer }), ...before };
  return { ...rest, revision, digest, content, owned, quarantine: quarantineFor(facts, journal) };
}

/** Records that the kubelet runs again after a rollback. */
export function revived(facts: Facts, journal: Journal): Step {
  const { quarantine } = journal;
  // Without one nothing was rolled back: it was a repaired drift, or a withdrawal.
  if (quarantine === undefined || quarantine.told) return record(codes.inForce, confirmed(journal));
  return record(codes.rolledBack, {
    ...confirmed(journal),
    quarantine: { ...quarantine, since: facts.now },
  });
}

/**
 * Whether the content must wait. A grant that has failed is dead: a new one tries again, however
 * soon. Without a grant, another revision is tried at once.
 */
export function isQuarantined(
  facts: Facts,
  journal: Journal | undefined,
  { revision, content }: Document,
): journal is Journal & { quarantine: NonNullable<Journal["quarantine"]> } {
  const quarantine = journal?.quarantine;
  const key = grantedKey(facts.grant);
  if (key !== undefined) return journal?.phase === "applied" && quarantine?.grant === key;
  if (quarantine?.content !== content || quarantine.revision !== revision) return false;
  // In any other phase the content is being tried again.
  if (journal?.phase !== "applied") return false;
  return !quarantine.told || !isOver(facts, journal, quarantine);
}

export function quarantined(
  journal: Journal & { quarantine: NonNullable<Journal["quarantine"]> },
): Step {
  const { quarantine } = journal;
  const dead = quarantine.grant !== undefined;
  const until = new Date(quarantine.since + quarantine.lasts).toISOString();
  const { why } = quarantine;
  const reason = why === undefined ? "" : `, systemd refused the restart: ${why}`;
  const failure = `revision ${quarantine.revision}, failure ${quarantine.failures}${reason}`;
  const detail = dead ? failure : `${failure}, until ${until}`;
  if (quarantine.told)
    return dead
      ? tell("failed", codes.quarantined, detail)
      : wait(codes.quarantined, 10_000, detail);
  const next = { ...journal, quarantine: { ...quarantine, told: true } };
  return atOnce({ action: "give up", code: codes.rolledBack, detail, journal: next });
}

function isOver(
  facts: Facts,
  journal: Journal,
  { since, lasts }: NonNullable<Journal["quarantine"]>,
): boolean {
  // This process's own time counts as well: a clock set back would make it last for ever.
  const over = facts.now - since >= lasts || facts.stopwatch.quarantine >= lasts;
  return over && callsWithin(journal, facts.now, 3_600_000) <= restartsPerHour - 2;
}

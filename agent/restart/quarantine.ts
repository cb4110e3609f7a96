/** A content that has broken this node's kubelet is not tried again in a hurry. Pure. */
import type { Facts } from "../facts/facts.ts";
import { callsWithin, confirmed, type Journal } from "../journal/journal.ts";
import type { Document } from "../delivery/mounted.ts";
import { record, type Step, wait } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

const first = 600_000;
const longest = 21_600_000;
/**
 * A bad kubelet is restarted at most four times an hour by us; a retry needs two, its own and the
 * rollback's.
 */
const restartsPerHour = 4;

/**
 * The quarantine that follows one more rollback: 10 min, doubling with each failure of the same
 * content, to 6 h.
 */
function quarantineFor({ now }: Facts, journal: Journal): NonNullable<Journal["quarantine"]> {
  const { revision, content, quarantine } = journal;
  const failures = quarantine?.content === content ? quarantine.failures + 1 : 1;
  const lasts = Math.min(longest, first * 2 ** Math.min(failures - 1, 10));
  return { revision, content, failures, since: now, lasts, told: false };
}

/**
 * The journal of a node whose file is as it was before the change: what was ours then is ours, at
 * the moment when the file is back. The content that failed is quarantined; its time begins anew
 * when the kubelet is proved.
 */
export function undone(facts: Facts, journal: Journal): Journal {
  const { undo, settling: _settling, renamed: _renamed, ...rest } = journal;
  if (undo === undefined) return journal;
  const { revision, digest, content, owned } = undo;
  return { ...rest, revision, digest, content, owned, quarantine: quarantineFor(facts, journal) };
}

/** The journal of a node whose kubelet runs again after a rollback, and the code that says so. */
export function revived(facts: Facts, journal: Journal): Step {
  const { quarantine } = journal;
  // Without one nothing was rolled back: a drift that was put right, or a withdrawal.
  if (quarantine === undefined || quarantine.told) return record(codes.inForce, confirmed(journal));
  return record(codes.rolledBack, {
    ...confirmed(journal),
    quarantine: { ...quarantine, since: facts.now },
  });
}

/** A new revision is tried at once, even with a content that has failed. */
export function isQuarantined(
  facts: Facts,
  journal: Journal | undefined,
  { revision, content }: Document,
): journal is Journal & { quarantine: NonNullable<Journal["quarantine"]> } {
  const quarantine = journal?.quarantine;
  if (quarantine?.content !== content || quarantine.revision !== revision) return false;
  // Once it is over and the content is being tried again, the phases take over.
  if (journal?.phase !== "applied") return false;
  return !quarantine.told || !isOver(facts, journal, quarantine);
}

export function quarantined(
  journal: Journal & { quarantine: NonNullable<Journal["quarantine"]> },
): Step {
  const { quarantine } = journal;
  const until = new Date(quarantine.since + quarantine.lasts).toISOString();
  const detail = `revision ${quarantine.revision}, failure ${quarantine.failures}, until ${until}`;
  if (quarantine.told) return wait(codes.quarantined, 10_000, detail);
  const next = { ...journal, quarantine: { ...quarantine, told: true } };
  return {
    action: "give up",
    code: codes.rolledBack,
    detail,
    ready: false,
    again: 0,
    journal: next,
  };
}

function isOver(
  facts: Facts,
  journal: Journal,
  { since, lasts }: NonNullable<Journal["quarantine"]>,
): boolean {
  // A clock that was set back would make it last for ever: our own time counts as well.
  const over = facts.now - since >= lasts || facts.steady.quarantine >= lasts;
  return over && callsWithin(journal, facts.now, 3_600_000) <= restartsPerHour - 2;
}

/** What a pod is granted, and what belongs to it. Pure. */
import { type Grant, keyOf } from "#contract/grant.ts";
import type { Document } from "../delivery/mount.ts";
import type { GrantReading } from "../delivery/volume.ts";
import type { Journal } from "../journal/journal.ts";
import type { Facts } from "./facts.ts";

/** What the agent reports of its last look. */
export type Observed = Readonly<{
  grant: GrantReading;
  /** The revision in the journal; 0: none. */
  journal: number;
  /** The journal has what is granted in force. */
  fulfilled: boolean;
  /** Key of the grant that has failed on this node, which may be one of a pod before this one. */
  failed: string | undefined;
}>;

type Named = Readonly<{ revision: number; digest?: string | undefined }>;

/**
 * Whether it belongs to this grant, by revision and digest. A number alone is not enough: it comes
 * back with other content when etcd is restored, or when the product is installed again and nodes
 * kept their journals. A journal without a digest does not count.
 */
export function belongsTo(one: Named, grant: GrantReading): boolean {
  if (typeof grant === "string") return false;
  return one.revision === grant.revision && one.digest === grant.digest;
}

/** The grant, while it grants something; undefined without one, and once it was taken back. */
export function granted(grant: GrantReading): Grant | undefined {
  return typeof grant === "string" || grant.revision === 0 ? undefined : grant;
}

/** The revision that is granted; 0 where there is none. */
export function grantedRevision(grant: GrantReading): number {
  return granted(grant)?.revision ?? 0;
}

/** The key of the grant, which refusals and failures are recorded under. */
export function grantedKey(grant: GrantReading): string | undefined {
  const given = granted(grant);
  return given && keyOf(given);
}

/** Key of the grant that failed last, while the node has nothing newer than what failed. */
export function failedKey(journal: Journal | undefined): string | undefined {
  const { phase, revision = 0, quarantine } = journal ?? {};
  if (phase !== "applied" || quarantine === undefined) return undefined;
  return quarantine.revision > revision ? quarantine.grant : undefined;
}

/**
 * The key of the grant that a word of this pod is about: its own. A pod without a grant tells of
 * the one that failed: its predecessor began the change and was deleted before the end.
 */
export function reportedKey({
  grant,
  failed,
}: Pick<Observed, "grant" | "failed">): string | undefined {
  return grant === "none" ? failed : grantedKey(grant);
}

/** The mounted document that may be applied: what is granted, or without a grant what is served. */
export function documentToApply({
  mounted,
  grant,
}: Pick<Facts, "mounted" | "grant">): Document | undefined {
  if (mounted?.kind !== "document") return undefined;
  if (grantedRevision(grant) === 0) return mounted.served === true ? mounted : undefined;
  return belongsTo(mounted, grant) ? mounted : undefined;
}

/**
 * Whether the journal records only that the node takes nothing unasked. The file as it was then is
 * no use: other programs may have changed it since.
 */
export function isEmpty(journal: Journal | undefined): boolean {
  return (
    journal !== undefined &&
    journal.phase === "applied" &&
    journal.revision === 0 &&
    journal.content === "" &&
    journal.quarantine === undefined &&
    journal.unverified === undefined &&
    journal.calls.length === 0 &&
    journal.owned.former === undefined &&
    journal.owned.answer === undefined &&
    journal.owned.entries.length + journal.owned.rest.length === 0
  );
}

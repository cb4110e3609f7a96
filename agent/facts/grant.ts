/** The grant of a pod, and which documents and journals belong to it. Pure. */
import { type Grant, keyOf } from "#contract/grant.ts";
import type { Document } from "../delivery/mount.ts";
import type { GrantReading } from "../delivery/volume.ts";
import type { Journal } from "../journal/journal.ts";
import type { Facts } from "./facts.ts";

/** The result of the agent's last round, for reports. */
export type Observed = Readonly<{
  grant: GrantReading;
  /** The revision in the journal; 0 if there is none. */
  journal: number;
  /** According to the journal, the granted content is in force. */
  fulfilled: boolean;
  /** Key of the grant that failed on this node, possibly the grant of an earlier pod. */
  failed: string | undefined;
}>;

type Named = Readonly<{ revision: number; digest?: string | undefined }>;

/**
 * Whether a document or journal belongs to this grant, by revision and digest. The revision alone
 * is not enough: after etcd is restored, or the product is installed again, the same number can
 * return with other content. A journal without a digest belongs to no grant.
 */
export function belongsTo(named: Named, grant: GrantReading): boolean {
  if (typeof grant === "string") return false;
  return named.revision === grant.revision && named.digest === grant.digest;
}

/** The grant, if it grants a revision; undefined without a grant, or if it was revoked. */
export function granted(grant: GrantReading): Grant | undefined {
  return typeof grant === "string" || grant.revision === 0 ? undefined : grant;
}

/** The granted revision; 0 if there is none. */
export function grantedRevision(grant: GrantReading): number {
  return granted(grant)?.revision ?? 0;
}

/** The key of the grant. Refusals and failures are recorded under it. */
export function grantedKey(grant: GrantReading): string | undefined {
  const activeGrant = granted(grant);
  return activeGrant && keyOf(activeGrant);
}

/** Key of the grant that failed last, unless the node has received newer content since. */
export function failedKey(journal: Journal | undefined): string | undefined {
  const { phase, revision = 0, quarantine } = journal ?? {};
  if (phase !== "applied" || quarantine === undefined) return undefined;
  return quarantine.revision > revision ? quarantine.grant : undefined;
}

/**
 * Key of the grant that this pod reports in its termination message: the pod's own grant. A pod
 * without a grant reports the failed grant of an earlier pod, which began the change and was
 * deleted before the change ended.
 */
export function reportedKey({
  grant,
  failed,
}: Pick<Observed, "grant" | "failed">): string | undefined {
  return grant === "none" ? failed : grantedKey(grant);
}

/**
 * The mounted document that the agent is allowed to apply: the granted document, or without a grant
 * the served document.
 */
export function documentToApply({
  mounted,
  grant,
}: Pick<Facts, "mounted" | "grant">): Document | undefined {
  if (mounted?.kind !== "document") return undefined;
  if (grantedRevision(grant) === 0) return mounted.served === true ? mounted : undefined;
  return belongsTo(mounted, grant) ? mounted : undefined;
}

/**
 * Whether the journal records only that the node takes no content without a grant. The agent does
 * not use the file in such a journal, because other programs might have changed the file since.
 */
export function isEmpty(journal: Journal | undefined): boolean {
  return (
    journal !== undefined &&
    journal.phase === "applied" &&
    journal.revision === 0 &&
    journal.content === "" &&
    journal.quarantine === undefined &&
    journal.calls.length === 0 &&
    journal.owned.former === undefined &&
    journal.owned.answer === undefined &&
    journal.owned.entries.length + journal.owned.rest.length === 0
  );
}

/** What a pod is granted, and what belongs to it. Pure. */
import { type Grant, fromTemplate, keyOf } from "#contract/grant.ts";
import type { Document } from "../delivery/mount.ts";
import type { GrantReading } from "../delivery/volume.ts";
import type { Journal } from "../journal/journal.ts";
import type { Facts } from "./facts.ts";

/** What the agent reports of its last look. */
export type Seen = Readonly<{
  grant: GrantReading;
  /** The revision in the journal; 0: none. */
  journal: number;
  /** The journal has what is granted in force. */
  fulfilled: boolean;
}>;

type Named = Readonly<{ revision: number; digest?: string | undefined }>;

/**
 * Whether it belongs to this grant, by revision and digest. A number alone is not enough: it comes
 * back with other content when etcd is restored, or when the product is installed again and nodes
 * kept their journals. A journal without a digest does not count.
 */
export function isOf(one: Named, grant: GrantReading): boolean {
  if (typeof grant === "string") return false;
  return one.revision === grant.revision && one.digest === grant.digest;
}

/** The revision that is granted; 0 where there is none. */
export function grantedRevision(grant: GrantReading): number {
  return typeof grant === "string" ? 0 : grant.revision;
}

/**
 * A grant that was given to a running pod. Rules for what the template gives are those of a rollout
 * that replaces pods: it is tried again after a time, and proves by the pod's readiness alone.
 */
export function givenInPlace(grant: GrantReading): Grant | undefined {
  return typeof grant === "string" || grant.since === fromTemplate ? undefined : grant;
}

/** The template asks the agent to observe the node, and to touch nothing. */
export function observes(grant: GrantReading): boolean {
  return typeof grant === "object" && grant.since === fromTemplate && grant.revision === 0;
}

/** The name that failures are recorded under; none for what a template gives. */
export function failureKey(grant: GrantReading): string | undefined {
  const given = givenInPlace(grant);
  return given !== undefined && given.revision > 0 ? keyOf(given) : undefined;
}

/** The mounted document that may be applied: what is granted, or without a grant what is served. */
export function ours({ mounted, grant }: Pick<Facts, "mounted" | "grant">): Document | undefined {
  if (mounted?.kind !== "document") return undefined;
  if (grantedRevision(grant) === 0) return mounted.served === true ? mounted : undefined;
  return isOf(mounted, grant) ? mounted : undefined;
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
    journal.owned.entries.length + journal.owned.rest.length === 0
  );
}

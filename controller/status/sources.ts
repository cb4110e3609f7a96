/**
 * The sources in status: the verdict of a run, and which version of each source the nodes have.
 * Pure. A new version that does not change the published content (an annotation, white space)
 * counts as served once it is read. Other versions count as served when their revision is served.
 */
import type { GlobalPullSecret, SourceStatus } from "#api/global-pull-secret.ts";
import type { SourcesVerdict } from "../sources/accept.ts";
import { isExtra } from "../sources/verdict.ts";

/**
 * The verdict on a source. `extra`: a source in spec.sources, whose refusal does not affect others.
 */
export type SourceFacts = Omit<SourceStatus, "servedResourceVersion"> &
  Readonly<{ extra: boolean }>;

export function sourceFacts({ sources }: SourcesVerdict): readonly SourceFacts[] {
  return sources.map(({ name, resourceVersion, accepted, reason, message }) => ({
    name,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    accepted,
    reason,
    message,
    extra: isExtra({ name }),
  }));
}

/**
 * Source → version. Undefined: the source's Secret does not exist, and none of its versions is in
 * force.
 */
export type Versions = Readonly<Record<string, string | undefined>>;

/**
 * Versions by source. `published`: the versions in the present revision; `served`: the versions in
 * the last served revision.
 */
export type ServedVersions = Readonly<{ revision: number; published: Versions; served: Versions }>;

export const nothingKnown: ServedVersions = { revision: 0, published: {}, served: {} };

type Seen = Readonly<{
  revision: number;
  /** The published content matches the sources. */
  same: boolean;
  /** Every node that can be served has the revision. */
  out: boolean;
  /** Versions of the sources that are accepted, or do not exist. */
  versions: Versions;
}>;

/**
 * The versions after a run. After a restart, the controller has only the served versions, because
 * status contains them. The controller finds the published versions again in the next run or, if a
 * source changed meanwhile, with the next revision. Therefore it never reports a version too early.
 */
export function servedAfter(
  before: ServedVersions,
  { revision, same, out, versions }: Seen,
): ServedVersions {
  const earlier = revision === before.revision ? before.published : {};
  const published = same ? { ...earlier, ...versions } : earlier;
  const served = out ? { ...before.served, ...published } : before.served;
  return { revision, published, served };
}

/** The served versions that the status contains. */
export function servedIn({ status }: GlobalPullSecret): Versions {
  return Object.fromEntries(
    (status?.sources ?? []).flatMap(({ name, servedResourceVersion: version }) =>
      version === undefined ? [] : [[name, version] as const],
    ),
  );
}

/**
 * Versions of the accepted sources, and undefined for an extra source that is missing. A source
 * that is refused or unreadable keeps its previous version.
 */
export function versionsOf(sources: readonly SourceFacts[]): Versions {
  return Object.fromEntries(
    sources.flatMap(({ name, accepted, reason, extra, resourceVersion }) =>
      accepted === "True" || (extra && reason === "Missing")
        ? [[name, resourceVersion] as const]
        : [],
    ),
  );
}

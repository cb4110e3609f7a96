/** A run's verdict on the sources, in the words of status. Pure. */
import type { SourceStatus } from "#api/global-pull-secret.ts";
import type { SourcesVerdict } from "../sources/accept.ts";
import { isExtra } from "../sources/verdict.ts";

/** The verdict on a source. `extra`: one of spec.sources, whose refusal holds up no other. */
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

/** Source → version; undefined: there is no such Secret, and none is in force. */
export type Versions = Readonly<Record<string, string | undefined>>;

/**
 * Versions by source. `published`: those whose content the present revision holds; `served`: those
 * of the last served revision.
 */
export type ServedVersions = Readonly<{ revision: number; published: Versions; served: Versions }>;

export const nothingKnown: ServedVersions = { revision: 0, published: {}, served: {} };

type Seen = Readonly<{
  /** Revision of global-pull-secret. */
  revision: number;
  /** The published content is what the sources say. */
  same: boolean;
  /** Every node that can be served has it. */
  out: boolean;
  /** Versions of the sources that are accepted as read now, or do not exist. */
  versions: Versions;
}>;

/**
 * The versions after a run. A restart forgets all but what was served, which the status itself
 * remembers. The rest is known again with the next run or, if a source changed meanwhile, with the
 * next revision. So no version is ever reported too early.
 */
export function after(
  before: ServedVersions,
  { revision, same, out, versions }: Seen,
): ServedVersions {
  const kept = revision === before.revision ? before.published : {};
  const published = same ? { ...kept, ...versions } : kept;
  const served = out ? { ...before.served, ...published } : before.served;
  return { revision, published, served };
}

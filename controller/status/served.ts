/**
 * Which version of each source the last served revision holds the content of. Pure. A version whose
 * content changes nothing of what is published (an annotation, white space) is served as soon as it
 * is read; any other with the revision that brings it.
 */

/** Source → version; undefined: there is no such Secret, and none is in force. */
export type Versions = Readonly<Record<string, string | undefined>>;

/** `published`: whose content the present revision holds; `served`: whose the last one did. */
export type Known = Readonly<{ revision: number; published: Versions; served: Versions }>;

export const nothingKnown: Known = { revision: 0, published: {}, served: {} };

type Seen = Readonly<{
  /** Of global-pull-secret. */
  revision: number;
  /** What is published is what the sources say. */
  same: boolean;
  /** Every node that can be served has it. */
  out: boolean;
  /** Of the sources that are accepted as read now, or are not there. */
  versions: Versions;
}>;

/**
 * Lost at a restart but for what was served, which the status itself remembers; the rest is seen
 * again with the next run, unless a source changed meanwhile: then with the next revision. So a
 * number is never too high.
 */
export function after(before: Known, { revision, same, out, versions }: Seen): Known {
  const kept = revision === before.revision ? before.published : {};
  const published = same ? { ...kept, ...versions } : kept;
  const served = out ? { ...before.served, ...published } : before.served;
  return { revision, published, served };
}

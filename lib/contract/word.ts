/**
 * An agent's termination message: a line for people, then in brackets what the controller reads.
 * Only the container can say it, while readiness can be forged by any process that takes the
 * probe's port.
 *
 *     GPS200 the revision is in force; … (revision 7) [proved 7/DIGEST/SINCE 7]
 */
import { revisionOf, type GrantKey } from "./grant.ts";

/**
 * proved: the kubelet runs with what was granted · failed: it did not, and the old file is back ·
 * unfit: nothing on the node was touched, and it does not support what was granted · behind: the
 * node has a higher revision than the grant · released: nothing of ours is left on the node.
 */
export const wordKinds = ["proved", "failed", "unfit", "behind", "released"] as const;
export type WordKind = (typeof wordKinds)[number];

export type Word = Readonly<{
  kind: WordKind;
  grant: GrantKey;
  /** The revision that the node has in force; 0: none. */
  journal: number;
}>;

/** The kubelet keeps 4 KiB of a message; ours have less than 1 KiB. */
const longest = 4096;
const form = new RegExp(
  ` \\[(${wordKinds.join("|")}) (\\d{1,13})/([\\w-]{0,64})/([\\w.:+-]{1,40}) (\\d{1,13})\\]$`,
);

/**
 * The message. `line` is one line that names no credential; it is cut at 800 characters. `key`:
 * the grant that it is about (`keyOf`).
 */
export function messageOf(
  line: string,
  { kind, key, journal }: Readonly<{ kind: WordKind; key: string; journal: number }>,
): string {
  return `${line.slice(0, 800)} [${kind} ${key} ${journal}]`;
}

/** The word in a termination message. Undefined for any other text. Never throws. */
export function parseWord(message: string | undefined): Word | undefined {
  if (message === undefined || message.length > longest) return undefined;
  const [, kind, granted = "", digest = "", since = "", proved = ""] =
    form.exec(message.trimEnd()) ?? [];
  const [revision, journal] = [revisionOf(granted), revisionOf(proved)];
  if (revision === undefined || journal === undefined) return undefined;
  return { kind: kind as WordKind, grant: { revision, digest, since }, journal };
}

/** The message for people. */
export function lineOf(message: string): string {
  return message.trimEnd().replace(form, "");
}

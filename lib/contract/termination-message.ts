/**
 * An agent's termination message: a line for people, then in brackets the part for the controller.
 * Only the container can write the message. Readiness is weaker: any process that takes the probe's
 * port can forge it.
 *
 *     GPS200 the revision is in force; … (revision 7) [proved 7/DIGEST/SINCE 7]
 */
import { revisionOf, type GrantKey } from "./grant.ts";

/**
 * proved: the kubelet runs with the granted content · failed: the kubelet did not run with it, and
 * the old file is restored · unfit: the node does not support the granted content, and nothing on
 * it was touched · behind: the node has a higher revision than the grant · released: nothing of
 * ours is left on the node.
 */
export const messageKinds = ["proved", "failed", "unfit", "behind", "released"] as const;
export type MessageKind = (typeof messageKinds)[number];

export type TerminationMessage = Readonly<{
  kind: MessageKind;
  grant: GrantKey;
  /** The revision in force on the node; 0: none. */
  journal: number;
}>;

/** The kubelet keeps 4 KiB of a message; ours have less than 1 KiB. */
const longest = 4096;
const form = new RegExp(
  ` \\[(${messageKinds.join("|")}) (\\d{1,13})/([\\w-]{0,64})/([\\w.:+-]{1,40}) (\\d{1,13})\\]$`,
);

/**
 * Writes the message. `line` is one line without credentials; it is cut at 800 characters. `key`
 * identifies the grant of the message (`keyOf`).
 */
export function messageOf(
  line: string,
  { kind, key, journal }: Readonly<{ kind: MessageKind; key: string; journal: number }>,
): string {
  return `${line.slice(0, 800)} [${kind} ${key} ${journal}]`;
}

/** Parses a termination message. Undefined for any other text. Never throws. */
export function parseMessage(message: string | undefined): TerminationMessage | undefined {
  if (message === undefined || message.length > longest) return undefined;
  const [, kind, granted = "", digest = "", since = "", proved = ""] =
    form.exec(message.trimEnd()) ?? [];
  const [revision, journal] = [revisionOf(granted), revisionOf(proved)];
  if (revision === undefined || journal === undefined) return undefined;
  return { kind: kind as MessageKind, grant: { revision, digest, since }, journal };
}

/** The message for people. */
export function lineOf(message: string): string {
  return message.trimEnd().replace(form, "");
}

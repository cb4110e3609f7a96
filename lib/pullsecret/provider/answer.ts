/** What the script prints: the CredentialProviderResponse. Pure. */
import { Buffer, isUtf8 } from "node:buffer";
import { readFields } from "../kubelet/kubelet.ts";
import { covers, hostOf, identity } from "../registry/registry.ts";
import { providerVersion } from "./config.ts";

/**
 * A script of two lines, which a shell of any kind understands. The stamp is a word to the agent,
 * and must cost no pull: where it cannot be made (a full disk), the answer is given all the same.
 * Paths are its own, because only the host knows where the kubelet's directory is.
 */
export const script = `#!/bin/sh
true 2>/dev/null >"\${0%/*}/../stamp"; exec cat "\${0%/*}/../answer.json"
`;

/** Registry → entry of `auths`. */
export type Entries = ReadonlyMap<string, unknown>;

/**
 * The answer with these entries, user and password as the kubelet takes them from each; none: it
 * gives no credential. Same entries, same bytes. An entry that is not `answerable` must not be
 * among them.
 */
export function answerOf(entries: Entries): Buffer {
  const auth = [...entries]
    .map(([key, entry]) => [key, pairOf(entry)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const answer = {
    apiVersion: providerVersion,
    kind: "CredentialProviderResponse",
    cacheKeyType: "Image",
    cacheDuration: "0s",
    auth: Object.fromEntries(auth),
  };
  return Buffer.from(`${JSON.stringify(answer)}\n`);
}

/**
 * Whether a kubelet with these rows of `matchImages` asks for every image that the entry is for,
 * and JSON can carry user and password, which are bytes in config.json.
 */
export function answerable(key: string, entry: unknown, rows: readonly string[]): boolean {
  const registry = identity(key);
  if (registry === undefined || hostOf(registry).startsWith("[")) return false;
  const read = fieldsOf(entry);
  if (!("password" in read) || !isUtf8(read.username) || !isUtf8(read.password)) return false;
  return rows.some((row) => covers(identity(row) ?? row, registry));
}

function pairOf(entry: unknown): Readonly<{ username: string; password: string }> {
  const read = fieldsOf(entry);
  if (!("password" in read)) return { username: "", password: "" };
  return { username: read.username.toString(), password: read.password.toString() };
}

function fieldsOf(entry: unknown): ReturnType<typeof readFields> {
  return readFields(typeof entry === "object" && entry !== null ? Object.entries(entry) : []);
}

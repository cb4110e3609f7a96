/**
 * The key `former` of global-pull-secret: salted digests of values that were published from
 * additional sources and have left. A login tool or a nightly backup can put an older copy of
 * config.json back. With these digests an agent recognises our former credentials in it, also if
 * the node has no memory of them. Pure.
 */
import { createHash } from "node:crypto";
import { imagesOf } from "../registry/key.ts";

/** Enough for five weeks of a token that changes every hour; 23 kB. */
const mostDigests = 1000;
/** Characters of base64url, 132 bits. */
const digestLength = 22;

/** A registry with its entry as canonical JSON, such as `{"auth":"…"}`. */
export type Value = Readonly<{ key: string; entry: string }>;

export type Former = Readonly<{ salt: string; digests: ReadonlySet<string> }>;

/** Reads the key: a line with the salt, then a line for each digest, oldest first. */
export function readFormer(text: string): Former {
  const [salt = "", ...digests] = text.split("\n");
  return { salt, digests: new Set(digests) };
}

/** Whether the value was ours for these images, in any spelling of the registry. */
export function isFormer({ salt, digests }: Former, value: Value): boolean {
  return digests.size > 0 && digests.has(digestOf(salt, value));
}

/**
 * The key after values have left, in this order: if they are too many, the first are forgotten. A
 * value that is published again is not a former one. `salt`: used if there is none yet.
 */
export function nextFormer(
  text: string,
  {
    left,
    present,
    salt,
  }: Readonly<{ left: readonly Value[]; present: readonly Value[]; salt: string }>,
): string {
  const former = readFormer(text);
  const usedSalt = former.salt || salt;
  const digests = new Set(former.digests);
  for (const digest of left.map((value) => digestOf(usedSalt, value))) {
    digests.delete(digest);
    digests.add(digest);
  }
  for (const value of present) digests.delete(digestOf(usedSalt, value));
  return [usedSalt, ...[...digests].slice(-mostDigests)].join("\n");
}

/** The salt prevents guessing, and the images make the spelling of the registry irrelevant. */
function digestOf(salt: string, { key, entry }: Value): string {
  const hash = createHash("sha256").update(`${salt}\0${imagesOf(key)}\0${entry}`);
  return hash.digest("base64url").slice(0, digestLength);
}

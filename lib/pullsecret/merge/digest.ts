/** The public digest that identifies a revision's content. */
import { createHash } from "node:crypto";
import type { Intent } from "#contract/names.ts";

/** The content of a revision of global-pull-secret, byte for byte as in the Secret. */
export type DigestedRevision = Readonly<{
  salt: Uint8Array;
  intent: Intent;
  sources: Uint8Array;
  document: Uint8Array;
}>;

/**
 * SHA-256 in 43 characters of base64url. The salt prevents guessing: without it, a pod's annotation
 * would reveal whether a guessed password is the one in the document. No part except the salt
 * contains a NUL, and the salt's length is fixed, so no two contents have the same digested text.
 */
export function digestOf({ salt, intent, sources, document }: DigestedRevision): string {
  const hash = createHash("sha256").update(salt);
  for (const part of [intent, sources, document]) hash.update("\0").update(part);
  return hash.digest("base64url");
}

/** Bytes of a salt. */
export const saltLength = 32;

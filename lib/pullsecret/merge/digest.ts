/** The public digest that tells one revision's content from any other's. */
import { createHash } from "node:crypto";
import type { Intent } from "#contract/names.ts";

/** What a revision of global-pull-secret says, as its bytes are in the Secret. */
export type DigestedRevision = Readonly<{
  salt: Uint8Array;
  intent: Intent;
  sources: Uint8Array;
  document: Uint8Array;
}>;

/**
 * SHA-256 in 43 characters of base64url. The salt makes it useless for guessing: without it a pod's
 * annotation would tell whether a guessed password is the one in the document. No part but the salt
 * may hold a NUL, and the salt's length is fixed, so no two contents share one text.
 */
export function digestOf({ salt, intent, sources, document }: DigestedRevision): string {
  const hash = createHash("sha256").update(salt);
  for (const part of [intent, sources, document]) hash.update("\0").update(part);
  return hash.digest("base64url");
}

/** Bytes of a salt. */
export const saltLength = 32;

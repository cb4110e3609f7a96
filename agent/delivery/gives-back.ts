/** Withdrawals, and what is as good as one. */
import type { Document } from "./mounted.ts";

/**
 * Whether the node is to be as if we had never been there: a withdrawal, or a halt before anything
 * was ever served.
 */
export function givesBack({ intent, wanted }: Document): boolean {
  return (
    intent === "release" ||
    (intent === "hold" && wanted.entries.size === 0 && wanted.rest.size === 0)
  );
}

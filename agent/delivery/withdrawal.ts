/** Withdrawals, and what amounts to one. */
import type { Document } from "./mount.ts";

/**
 * Whether the node is to be as if we had never been there: under a withdrawal, or a halt before
 * anything was served.
 */
export function givesBack({ intent, desired }: Document): boolean {
  return (
    intent === "release" ||
    (intent === "hold" && desired.entries.size === 0 && desired.rest.size === 0)
  );
}

/**
 * Finds the differences between two pull secrets, by registry. The result contains no credential.
 * Pure.
 */
import { redactKey } from "#pullsecret/problems/keypath.ts";
import { meaningOf } from "#pullsecret/registry/key.ts";
import type { Accepted } from "#pullsecret/document/parse.ts";

/** `changed`: the same registry with another credential. */
export type Difference = Readonly<{ registry: string; change: "added" | "changed" | "removed" }>;

/** The differences, sorted by registry. Different spellings of a registry count as the same key. */
export function differences(
  before: Accepted["entries"],
  after: Accepted["entries"],
): readonly Difference[] {
  const byMeaning = (entries: Accepted["entries"]) =>
    new Map(entries.map((entry) => [meaningOf(entry.registry), entry]));
  const [old, present] = [byMeaning(before), byMeaning(after)];
  const found: Difference[] = [];
  for (const [meaning, { registry, credential }] of present) {
    const was = old.get(meaning);
    if (was === undefined) found.push({ registry: redactKey(registry), change: "added" });
    else if (!was.credential.equals(credential))
      found.push({ registry: redactKey(registry), change: "changed" });
  }
  for (const [meaning, { registry }] of old)
    if (!present.has(meaning)) found.push({ registry: redactKey(registry), change: "removed" });
  return found.toSorted((a, b) => (a.registry < b.registry ? -1 : 1));
}

/**
 * Which entries the credential provider's answer gives, and what config.json is to hold besides.
 * Pure.
 *
 * The kubelet tries config.json before it asks a provider, so what stands there for a registry of
 * the answer's would win: its place is kept empty. But only once the kubelet was seen to ask: until
 * then an entry there is the only one that it surely has.
 */
import type { ProviderScope } from "#contract/names.ts";
import { answerable } from "#pullsecret/provider.ts";
import type { Owned } from "#agent/journal/journal.ts";
import type { Desired } from "../mount.ts";
import type { InstalledProvider } from "./installation.ts";

export type Shares = Readonly<{
  answer: ReadonlyMap<string, unknown>;
  config: Desired;
  /** Registries that can only be served to every pod, where that is not wanted. */
  unserved: readonly string[];
}>;

/** Originals stay in config.json, and what the kubelet would not ask our script for goes there. */
export function share(
  { entries, rest }: Desired,
  { rows, asked }: Pick<InstalledProvider, "rows" | "asked">,
  owned: Owned,
  scope: ProviderScope,
): Shares {
  const answer = new Map<string, unknown>();
  const config = new Map<string, typeof entries extends ReadonlyMap<string, infer T> ? T : never>();
  const unserved: string[] = [];
  const known = new Map(owned.entries.map((one) => [one.key, one]));
  for (const [key, entry] of entries) {
    if (entry.original) config.set(key, entry);
    else if (!answerable(key, entry.value, rows)) {
      if (scope === "All") config.set(key, entry);
      else unserved.push(key);
    } else {
      answer.set(key, entry.value);
      const mine = known.get(key);
      if (asked || mine?.vacant) config.set(key, { ...entry, vacant: true });
      else if (mine !== undefined && scope === "All") config.set(key, entry);
    }
  }
  return { answer, config: { entries: config, rest }, unserved };
}

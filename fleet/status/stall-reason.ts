/** Why an object cannot go on as declared: a table, of which the first match counts. Pure. */
import type { Judged } from "../secret/content.ts";
import { sentence } from "../secret/problems.ts";
import type { FoundClusters } from "./status.ts";

type Facts = Readonly<{
  source: Judged;
  /** Too many clusters refuse the content. */
  halted: boolean;
  /** Names of those that do. */
  refusing: readonly string[];
  /** How many selected clusters are not served, because status cannot hold them. */
  cut: number;
}>;

/** A message has at most 500 characters; a few names say where to look. */
const mostNamed = 5;

export function stalledBy({ source, halted, refusing, cut }: Facts): FoundClusters["stalled"] {
  if (!source.ok) return { reason: source.reason, message: source.message };
  if (halted) {
    const names = refusing.slice(0, mostNamed).join(", ");
    return { reason: "Halted", message: sentence("halted", names) };
  }
  if (cut > 0) return { reason: "TooManyClusters", message: sentence("tooMany", String(cut)) };
  return undefined;
}

/**
 * Merges accepted sources, and judges the size of the result. The controller and the plugin use
 * this function, so that they refuse the same sources.
 */
import type { Problem } from "../problems/problems.ts";
import { canonical, sourcesOf } from "./canonical.ts";
import { judgeSize } from "./capacity.ts";
import { merge, type Merged, type MergePolicy } from "./merge.ts";
import type { MergeSource } from "./offer.ts";

/** `document` and `sources`: the texts that are stored in a Secret. */
export type Joined =
  | Readonly<{
      ok: true;
      merged: Extract<Merged, { ok: true }>;
      document: string;
      sources: string;
    }>
  | Readonly<{ ok: false; problems: readonly Problem[] }>;

/**
 * The sources as one document, highest priority first, the original last. `bytes`: the length of
 * all their documents together.
 */
export function joinSources(
  sources: readonly MergeSource[],
  bytes: number,
  policy: MergePolicy,
): Joined {
  const merged = merge(sources, policy);
  if (!merged.ok) return merged;
  const [document, suppliers] = [canonical(merged), JSON.stringify(sourcesOf(merged))];
  const excess = judgeSize(bytes, document, suppliers);
  return excess === undefined
    ? { ok: true, merged, document, sources: suppliers }
    : { ok: false, problems: [excess] };
}

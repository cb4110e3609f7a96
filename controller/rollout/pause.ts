/** What a pause keeps in force. Nothing new is published, and nothing that exists falls apart. */
import type { RevisionContent } from "#contract/names.ts";
import { isEdited, isLost, type Published } from "../objects/global-secret.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import type { RememberedState } from "../objects/state.ts";

type Found = Readonly<{
  published: Published | undefined;
  state: RememberedState;
  template: Readonly<{ revision: number; digest: string }>;
}>;

/**
 * The content to keep: what is published or, where that was lost or edited, what every node had.
 * Undefined where neither is known: then only what is wanted can repair it.
 */
export function heldByPause(
  { global }: Snapshot,
  { published, state: { served }, template }: Found,
): RevisionContent | undefined {
  const intact = published !== undefined && !isLost(published, template) && !isEdited(global);
  if (intact) return { ...published, sources: published.sourcesText };
  return served !== undefined && served.revision === template.revision ? served : undefined;
}

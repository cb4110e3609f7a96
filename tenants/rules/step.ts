/**
 * Compares the live object, if it exists, with the wanted object, and decides what to do next.
 * Pure.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { sameData, type Data } from "./content.ts";
import type { Wanted } from "./copies.ts";

/** A Secret or a SyncSecret, as the API server returns it. */
export type Live = Readonly<{
  metadata: V1ObjectMeta;
  type?: string;
  data?: Data;
  stringData?: Data;
  immutable?: boolean;
}>;

export type SyncStep =
  | "create"
  | "update"
  /** The object is immutable or has another type, so we delete it and create it again. */
  | "recreate"
  /** The object is being deleted. We wait until it is gone. */
  | "wait"
  /** Another program made the object, so we do not touch it. */
  | "foreign"
  /** The object is as wanted. */
  | "nothing";

/** The next step. `isOurs`: we made the live object, even if others have edited it since. */
export function stepOf(live: Live | undefined, desired: Wanted, isOurs: boolean): SyncStep {
  if (live === undefined) return "create";
  if (live.metadata.deletionTimestamp !== undefined) return "wait";
  if (!isOurs) return "foreign";
  const content = sameContent(live, desired);
  const immutable = live.immutable === true;
  if (content && immutable === desired.immutable)
    return sameMetadata(live.metadata, desired) ? "nothing" : "update";
  const fixed = (live.type ?? "Opaque") !== desired.type || immutable;
  return fixed ? "recreate" : "update";
}

const sameContent = (live: Live, desired: Wanted): boolean =>
  (live.type ?? "Opaque") === desired.type &&
  sameData(live.data ?? {}, desired.data) &&
  Object.keys(live.stringData ?? {}).length === 0;

/**
 * True if the live metadata contains all of our metadata. Labels, annotations and owners that
 * others added do not count.
 */
function sameMetadata(live: V1ObjectMeta, { metadata }: Wanted): boolean {
  const has = (actual: Readonly<Record<string, string>> = {}, ours: Readonly<typeof actual>) =>
    Object.entries(ours).every(([name, value]) => actual[name] === value);
  return (
    has(live.labels, metadata.labels) &&
    has(live.annotations, metadata.annotations) &&
    (metadata.ownerReferences ?? []).every((ours) =>
      (live.ownerReferences ?? []).some(
        (reference) =>
          reference.uid === ours.uid &&
          reference.name === ours.name &&
          reference.kind === ours.kind &&
          reference.blockOwnerDeletion === ours.blockOwnerDeletion,
      ),
    )
  );
}

/**
 * The object for a replace request, with the resourceVersion of the live object. The request keeps
 * the metadata that others added, but not the data that they added.
 */
export function replacement(live: Live, desired: Wanted): object {
  const { managedFields: _written, ...metadata } = live.metadata;
  const ours = desired.metadata.ownerReferences ?? [];
  const others = (metadata.ownerReferences ?? []).filter(
    (reference) => !ours.some(({ uid }) => uid === reference.uid),
  );
  return {
    ...desired,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...desired.metadata.labels },
      annotations: { ...metadata.annotations, ...desired.metadata.annotations },
      ...(ours.length === 0 ? {} : { ownerReferences: [...others, ...ours] }),
    },
  };
}

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
export function stepOf(live: Live | undefined, wanted: Wanted, isOurs: boolean): SyncStep {
  if (live === undefined) return "create";
  if (live.metadata.deletionTimestamp !== undefined) return "wait";
  if (!isOurs) return "foreign";
  const content = sameContent(live, wanted);
  const immutable = live.immutable === true;
  if (content && immutable === wanted.immutable)
    return sameMetadata(live.metadata, wanted) ? "nothing" : "update";
  const fixed = (live.type ?? "Opaque") !== wanted.type || immutable;
  return fixed ? "recreate" : "update";
}

const sameContent = (live: Live, wanted: Wanted): boolean =>
  (live.type ?? "Opaque") === wanted.type &&
  sameData(live.data ?? {}, wanted.data) &&
  Object.keys(live.stringData ?? {}).length === 0;

/**
 * True if the live metadata contains all of our metadata. Labels, annotations and owners that
 * others added do not count.
 */
function sameMetadata(live: V1ObjectMeta, { metadata }: Wanted): boolean {
  const has = (there: Readonly<Record<string, string>> = {}, ours: Readonly<typeof there>) =>
    Object.entries(ours).every(([name, value]) => there[name] === value);
  return (
    has(live.labels, metadata.labels) &&
    has(live.annotations, metadata.annotations) &&
    (metadata.ownerReferences ?? []).every((ours) =>
      (live.ownerReferences ?? []).some(
        (one) =>
          one.uid === ours.uid &&
          one.name === ours.name &&
          one.kind === ours.kind &&
          one.blockOwnerDeletion === ours.blockOwnerDeletion,
      ),
    )
  );
}

/**
 * The object for a replace request, with the resourceVersion of the live object. The request keeps
 * the metadata that others added, but not the data that they added.
 */
export function replacement(live: Live, wanted: Wanted): object {
  const { managedFields: _written, ...metadata } = live.metadata;
  const ours = wanted.metadata.ownerReferences ?? [];
  const others = (metadata.ownerReferences ?? []).filter(
    (one) => !ours.some(({ uid }) => uid === one.uid),
  );
  return {
    ...wanted,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...wanted.metadata.labels },
      annotations: { ...metadata.annotations, ...wanted.metadata.annotations },
      ...(ours.length === 0 ? {} : { ownerReferences: [...others, ...ours] }),
    },
  };
}

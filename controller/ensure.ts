/** Brings one of our objects to what we declare, with as few words as possible: nothing is sent when nothing differs. */
import type { KubernetesObject, V1DaemonSet, V1ManagedFieldsEntry, V1ObjectMeta } from "@kubernetes/client-node";
import { contains } from "./contains.ts";
import type { Cluster } from "./kube.ts";
import { fieldManager, memoryManager } from "./ownership.ts";
import { owned } from "./paths.ts";

type Live<T> = (T & { metadata?: V1ObjectMeta }) | undefined;

/**
 * Creates or repairs. A new object is applied without force, so that one that somebody else made in the same instant gives
 * a 409 instead of being taken over; an existing one only in the very version that was seen.
 */
export async function ensure<T extends KubernetesObject>(
  cluster: Cluster,
  path: string,
  live: Live<T>,
  declared: T,
): Promise<T> {
  if (live === undefined) return cluster.apply<T>(path, declared, { manager: fieldManager, force: false });
  if (contains(live, declared)) return live;
  return cluster.apply<T>(path, sameVersion(declared, live), { manager: fieldManager, force: true });
}

function sameVersion<T extends KubernetesObject>(declared: T, live: { metadata?: V1ObjectMeta }): T {
  const { uid, resourceVersion } = live.metadata ?? {};
  return { ...declared, metadata: { ...declared.metadata, uid, resourceVersion } };
}

/**
 * As `ensure`, and takes out what others put into the spec (a container, hostPID …), which an apply alone would leave.
 * Labels and annotations of others stay.
 */
export async function ensureDaemonSet(
  cluster: Cluster,
  live: Live<V1DaemonSet>,
  declared: V1DaemonSet,
): Promise<V1DaemonSet> {
  const applied = await ensure<V1DaemonSet>(cluster, owned.daemonSet, live, declared);
  if (!hasForeignSpec(applied.metadata)) return applied;
  const metadata = { ...applied.metadata, managedFields: undefined };
  return cluster.replace<V1DaemonSet>(owned.daemonSet, { ...declared, metadata });
}

/** True when another manager holds fields of the spec that we do not declare. */
export function hasForeignSpec(metadata: V1ObjectMeta | undefined): boolean {
  const entries = (metadata?.managedFields ?? []).filter(({ subresource }) => subresource === undefined);
  const ours = entries.find(({ manager, operation }) => manager === fieldManager && operation === "Apply");
  const others = entries.filter(({ manager }) => manager !== fieldManager && manager !== memoryManager);
  return others.some((entry) => exceeds(specFields(entry), specFields(ours)));
}

type Fields = { [key: string]: Fields } | undefined;

function specFields(entry: V1ManagedFieldsEntry | undefined): Fields {
  return (entry?.fieldsV1 as Fields)?.["f:spec"];
}

/** A leaf (`{}`) of ours covers everything below it: lists that are one value. */
function exceeds(theirs: Fields, ours: Fields): boolean {
  if (theirs === undefined) return false;
  if (ours === undefined) return true;
  if (Object.keys(ours).length === 0) return false;
  return Object.entries(theirs).some(([key, below]) => key !== "." && exceeds(below, ours[key]));
}

/**
 * Brings one of our objects to what we declare, with as few requests as possible: nothing is sent
 * when nothing differs. Drift is what a write of ours would change (docs/decisions/0015). Where the
 * live object is not as declared, a dry run asks the API server what it would make of it; the
 * answer is what other people's admission lets us have.
 */
import type {
  KubernetesObject,
  V1DaemonSet,
  V1ManagedFieldsEntry,
  V1ObjectMeta,
} from "@kubernetes/client-node";
import { contains } from "./difference.ts";
import { demand } from "./demands.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { fieldManager, annotationManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";
import { isSame, type Admitted } from "./admission.ts";

type Live<T> = T & { metadata?: V1ObjectMeta };
type On = Readonly<{ cluster: Cluster; admitted: Admitted }>;

/**
 * Creates or repairs an object. Creation never overwrites: if somebody else made the object in the
 * same instant, it fails with 409. An existing object is changed only in the version that was seen.
 * What others put into a spec (a container, hostPID …) is taken out, because an apply alone would
 * leave it. Labels and annotations of others stay.
 */
export async function ensure<T extends KubernetesObject>(
  on: On,
  path: string,
  live: Live<T> | undefined,
  declared: T,
): Promise<T> {
  const { cluster, admitted } = on;
  if (live === undefined) {
    const metadata = { ...declared.metadata, resourceVersion: newborn };
    const made = await cluster.apply<T>(
      path,
      { ...declared, metadata },
      { manager: fieldManager, force: false },
    );
    return accept(admitted, path, declared, made);
  }
  if (isSame(await plan(on, path, live, declared), live)) return live;
  const applied = contains(live, declared)
    ? live
    : await write(cluster, path, live, declared, false);
  const made = hasForeignSpec(applied.metadata)
    ? await overwrite(cluster, path, applied, declared, false)
    : applied;
  return accept(admitted, path, declared, made);
}

/** True when a write of ours would change the DaemonSet's spec. */
export async function isDrifted(
  on: On,
  live: V1DaemonSet,
  declared: V1DaemonSet,
): Promise<boolean> {
  const { spec } = await plan(on, owned.daemonSet, live, declared);
  return !isSame({ ...live, spec } as KubernetesObject, live);
}

/**
 * What the API server would make of `live` if we wrote what we declare; `live` itself where the
 * answer is known.
 */
async function plan<T extends KubernetesObject>(
  { cluster, admitted }: On,
  path: string,
  live: Live<T>,
  declared: T,
): Promise<T> {
  if (isPlain(live, declared)) {
    admitted.forget(path);
    return live;
  }
  if (admitted.holds(path, declared, live)) return live;
  const applied = await write(cluster, path, live, declared, true);
  const made = hasForeignSpec(applied.metadata)
    ? await overwrite(cluster, path, applied, declared, true)
    : applied;
  demand(path, declared, made);
  if (isSame(made, live)) admitted.keep(path, declared, live);
  return made;
}

/**
 * True when the object is as declared and its spec has nothing of others, so that no dry run is
 * needed.
 */
const isPlain = (live: Live<KubernetesObject>, declared: KubernetesObject) =>
  contains(live, declared) && !hasForeignSpec(live.metadata);

function accept<T extends KubernetesObject>(
  admitted: Admitted,
  path: string,
  declared: T,
  made: T,
): T {
  demand(path, declared, made);
  if (isPlain(made, declared)) admitted.forget(path);
  else admitted.keep(path, declared, made);
  return made;
}

async function write<T extends KubernetesObject>(
  cluster: Cluster,
  path: string,
  live: Live<T>,
  declared: T,
  dryRun: boolean,
): Promise<Live<T>> {
  const { uid, resourceVersion } = live.metadata ?? {};
  const body = { ...declared, metadata: { ...declared.metadata, uid, resourceVersion } };
  return cluster.apply<Live<T>>(path, body, { manager: fieldManager, force: true, dryRun });
}

/** Replaces the object that an apply of ours has just made, in that version. */
async function overwrite<T extends KubernetesObject>(
  cluster: Cluster,
  path: string,
  applied: Live<T>,
  declared: T,
  dryRun: boolean,
): Promise<T> {
  const metadata = { ...applied.metadata, managedFields: undefined };
  return cluster.replace<T>(path, { ...declared, metadata }, { dryRun });
}

/** True when another manager holds fields of the spec that we do not declare. */
export function hasForeignSpec(metadata: V1ObjectMeta | undefined): boolean {
  const entries = (metadata?.managedFields ?? []).filter(
    ({ subresource }) => subresource === undefined,
  );
  const ours = entries.find(
    ({ manager, operation }) => manager === fieldManager && operation === "Apply",
  );
  const others = entries.filter(
    ({ manager }) => manager !== fieldManager && manager !== annotationManager,
  );
  return others.some((entry) => exceeds(specFields(entry), specFields(ours)));
}

type Fields = { [key: string]: Fields } | undefined;

function specFields(entry: V1ManagedFieldsEntry | undefined): Fields {
  return (entry?.fieldsV1 as Fields)?.["f:spec"];
}

/**
 * True when they hold a field that we do not. A leaf (`{}`) of ours covers everything below it:
 * some lists are one value.
 */
function exceeds(theirs: Fields, ours: Fields): boolean {
  if (theirs === undefined) return false;
  if (ours === undefined) return true;
  if (Object.keys(ours).length === 0) return false;
  return Object.entries(theirs).some(([key, below]) => key !== "." && exceeds(below, ours[key]));
}

/** A snapshot of every object that a run depends on. */
import type {
  KubernetesObject,
  V1DaemonSet,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import { additionalSecretName } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { isOurs } from "#kube/client/ownership.ts";
import { collections, owned, type OwnedName } from "#kube/client/paths.ts";
import type { ExtraInput, Original } from "./input.ts";

export type Snapshot = Readonly<{
  additional: V1Secret | undefined;
  original: Original;
  /** Highest priority first. */
  extras: readonly ExtraInput[];
  state: V1Secret | undefined;
  global: V1Secret | undefined;
  serviceAccount: V1ServiceAccount | undefined;
  role: V1Role | undefined;
  roleBinding: V1RoleBinding | undefined;
  daemonSet: V1DaemonSet | undefined;
}>;

/** How to read the original, if there is one. */
export type OriginalPlace = Readonly<{ read: () => Promise<Original> }>;

export async function observe(
  cluster: Cluster,
  original: OriginalPlace | undefined,
  extras: () => Promise<readonly ExtraInput[]> = async () => [],
): Promise<Snapshot> {
  return await together({
    additional: cluster.get<V1Secret>(`${collections.secrets}/${additionalSecretName}`),
    original: original === undefined ? ("absent" as const) : original.read(),
    extras: extras(),
    state: cluster.get<V1Secret>(owned.state),
    global: cluster.get<V1Secret>(owned.global),
    serviceAccount: cluster.get<V1ServiceAccount>(owned.serviceAccount),
    role: cluster.get<V1Role>(owned.role),
    roleBinding: cluster.get<V1RoleBinding>(owned.roleBinding),
    daemonSet: cluster.get<V1DaemonSet>(owned.daemonSet),
  });
}

type Results<Reads> = { readonly [Name in keyof Reads]: Awaited<Reads[Name]> };

/** The results of reads that run at the same time. Rejects with the first error. */
async function together<Reads extends object>(reads: Reads): Promise<Results<Reads>> {
  const results = await Promise.all(Object.values(reads) as unknown[]);
  const names = Object.keys(reads);
  return Object.fromEntries(names.map((name, at) => [name, results[at]])) as Results<Reads>;
}

/** Our objects that exist, by name. */
export function ownedOf(
  snapshot: Snapshot,
): (readonly [OwnedName, NonNullable<Snapshot[OwnedName]>])[] {
  return (Object.keys(owned) as OwnedName[]).flatMap((name) => {
    const object = snapshot[name];
    return object === undefined ? [] : [[name, object] as const];
  });
}

/** True for an object that someone else created. */
export function isForeign(object: KubernetesObject | undefined): boolean {
  return object !== undefined && !isOurs(object.metadata);
}

/** Objects under our names that someone else created. */
export function foreignOf(snapshot: Snapshot): OwnedName[] {
  return ownedOf(snapshot)
    .filter(([, object]) => isForeign(object))
    .map(([name]) => name);
}

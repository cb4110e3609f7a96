/** One snapshot: every object that a decision rests on. */
import type { V1DaemonSet, V1Role, V1RoleBinding, V1Secret, V1ServiceAccount } from "@kubernetes/client-node";
import { additionalSecretName } from "../pullsecret/names.ts";
import { ApiError } from "./apierror.ts";
import type { Cluster } from "./kube.ts";
import { isOurs } from "./ownership.ts";
import { collections, owned, type OwnedName } from "./paths.ts";

export type Snapshot = Readonly<{
  additional: V1Secret | undefined;
  original: V1Secret | undefined;
  global: V1Secret | undefined;
  serviceAccount: V1ServiceAccount | undefined;
  role: V1Role | undefined;
  roleBinding: V1RoleBinding | undefined;
  daemonSet: V1DaemonSet | undefined;
}>;

/** Where the original is, when there is one. */
export type OriginalPlace = Readonly<{ cluster: Cluster; path: string }>;

export async function observe(cluster: Cluster, original: OriginalPlace | undefined): Promise<Snapshot> {
  const [additional, originalSecret, global, serviceAccount, role, roleBinding, daemonSet] = await Promise.all([
    cluster.get<V1Secret>(`${collections.secrets}/${additionalSecretName}`),
    original === undefined ? undefined : readOriginal(original),
    cluster.get<V1Secret>(owned.global),
    cluster.get<V1ServiceAccount>(owned.serviceAccount),
    cluster.get<V1Role>(owned.role),
    cluster.get<V1RoleBinding>(owned.roleBinding),
    cluster.get<V1DaemonSet>(owned.daemonSet),
  ]);
  return { additional, original: originalSecret, global, serviceAccount, role, roleBinding, daemonSet };
}

/** Without the right to read it an original is as good as missing; that must not hold up the additional. */
async function readOriginal({ cluster, path }: OriginalPlace): Promise<V1Secret | undefined> {
  try {
    return await cluster.get<V1Secret>(path);
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}

/** Our objects by name, where they exist. */
export function ownedOf(snapshot: Snapshot): (readonly [OwnedName, NonNullable<Snapshot[OwnedName]>])[] {
  return (Object.keys(owned) as OwnedName[]).flatMap((name) => {
    const object = snapshot[name];
    return object === undefined ? [] : [[name, object] as const];
  });
}

/** Objects under our names that somebody else made. */
export function foreignOf(snapshot: Snapshot): OwnedName[] {
  return ownedOf(snapshot)
    .filter(([, object]) => !isOurs(object.metadata))
    .map(([name]) => name);
}

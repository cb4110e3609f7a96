/** A tenant's cluster and a management cluster, with manifests/sync and the plugin's output. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type V1Secret } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { freshBundle } from "#tools/build/bundle.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster, type ClusterOptions } from "../cluster/cluster.ts";
import { run } from "../cluster/run.ts";
import { dataKubeconfig } from "../controller/guest.ts";
import { writeKubeconfig } from "../controller/plane.ts";

const root = join(import.meta.dirname, "../..");
export const manifests = {
  definition: join(root, "manifests/crds/syncsecrets"),
  tenant: join(root, "manifests/sync/tenant"),
  management: join(root, "manifests/sync/management"),
} as const;
const plugin = join(root, "dist/kubectl-pull_secret.cjs");

/** A cluster. `kubeconfig` belongs to the program's account in this cluster. */
export type OneCluster = Readonly<{ cluster: Cluster; api: Api; kubeconfig: string }>;
export type Management = OneCluster;
export type Tenant = OneCluster;

export const apiOf = (kubeconfig: string): Api => {
  return connect(loadKubeConfig(kubeconfig), () => {});
};

async function tokenOf(cluster: Cluster, account: string, namespace: string): Promise<string> {
  const its = ["-n", namespace, "--duration=4h"];
  return (await cluster.kubectl("create", "token", account, ...its)).trim();
}

async function startPlace(
  side: "tenant" | "management",
  options: ClusterOptions = {},
): Promise<OneCluster> {
  await freshBundle();
  const cluster = await startCluster({ ...options, nodes: 0 });
  const kubeconfig = await deploy(cluster, side);
  return { cluster, api: apiOf(cluster.kubeconfig), kubeconfig };
}

/** Applies CRD and manifests of one side. Returns the file with its account's kubeconfig. */
export async function deploy(cluster: Cluster, side: "tenant" | "management"): Promise<string> {
  const name = `global-pull-secret-sync-${side}`;
  await cluster.kubectl("apply", "-k", manifests.definition);
  await cluster.kubectl("apply", "-k", manifests[side]);
  await cluster.kubectl("scale", `deployment/${name}`, "-n", "kube-system", "--replicas=0");
  const token = await tokenOf(cluster, name, "kube-system");
  return writeKubeconfig(cluster, name, cluster.server, token);
}

export const startTenant = (options?: ClusterOptions) => startPlace("tenant", options);

/**
 * Starts a management cluster with the objects that the plugin prints for namespace `tenant-a`, but
 * without the ResourceQuota. The controller manager finds a new CRD only after half a minute; until
 * then a quota refuses all objects of that CRD.
 */
export async function startManagement(): Promise<Management> {
  const place = await startPlace("management");
  await grant(place, "tenant-a");
  await place.cluster.kubectl("delete", "resourcequota", "--all", "-n", "tenant-a");
  return place;
}

/**
 * Applies the output of `kubectl pull-secret fleet tenant NAMESPACE`, with another maximum of
 * SyncSecrets if `most` is given.
 */
export async function grant({ cluster }: Management, namespace: string, most = 100): Promise<void> {
  const printed = await run([process.execPath, plugin, "fleet", "tenant", namespace]);
  const file = join(cluster.directory, `${namespace}.yaml`);
  writeFileSync(
    file,
    printed.replace(
      'syncsecrets.globalpullsecret.io: "100"',
      `syncsecrets.globalpullsecret.io: "${most}"`,
    ),
  );
  await cluster.kubectl("apply", "-f", file);
}

/**
 * Creates a ResourceQuota of 0, so that the API server refuses new objects of this kind in the
 * tenant's namespace. When you dispose of the result, deletes the ResourceQuota.
 */
export async function fill(
  { cluster, api }: Management,
  kind: "Secret" | "SyncSecret",
): Promise<AsyncDisposable> {
  const path = kind === "Secret" ? "/api/v1/namespaces/tenant-a/secrets" : pathOf("tenant-a");
  const counted = kind === "Secret" ? "secrets" : "syncsecrets.globalpullsecret.io";
  const name = `no-${kind.toLowerCase()}`;
  const metadata = { name, namespace: "tenant-a" };
  const spec = { hard: { [`count/${counted}`]: "0" } };
  await cluster.apply({ apiVersion: "v1", kind: "ResourceQuota", metadata, spec });
  const probe = kind === "Secret" ? { metadata: { name } } : syncSecret(name, {}, "tenant-a");
  await until(`no more ${kind} is accepted`, async () => {
    const asked = api.create(`${path}?dryRun=All`, probe);
    return await asked.then(
      () => false,
      (error: unknown) => error instanceof ApiError && error.status === 403,
    );
  });
  return {
    async [Symbol.asyncDispose]() {
      await cluster.kubectl("delete", "resourcequota", name, "-n", "tenant-a");
    },
  };
}

/** The file with the kubeconfig of an account of this namespace. */
export async function accessOf(cluster: Cluster, account: string, namespace: string) {
  const token = await tokenOf(cluster, account, namespace);
  const file = join(cluster.directory, `${namespace}-${account}.kubeconfig`);
  writeFileSync(file, dataKubeconfig(cluster, { token }), { mode: 0o600 });
  return file;
}

/** The file with the kubeconfig of the tenant's account in the management cluster. */
export const tenantAccess = ({ cluster }: Management): Promise<string> =>
  accessOf(cluster, "global-pull-secret-sync-tenant", "tenant-a");

export type Declared = Partial<Pick<SyncSecret, "data" | "stringData" | "type" | "immutable">>;

export const syncSecret = (name: string, declared: Declared, namespace = "default") => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "SyncSecret",
  metadata: { name, namespace },
  ...declared,
});

export const pathOf = (namespace: string, name = "") =>
  `/apis/globalpullsecret.io/v1alpha1/namespaces/${namespace}/syncsecrets${name && `/${name}`}`;

export const objectIn = async ({ api }: OneCluster, name: string, namespace = "default") =>
  api.get<SyncSecret>(pathOf(namespace, name));

/** Reads the management cluster's copy of a tenant's object. */
export const copyOf = async ({ api }: Management, { metadata }: SyncSecret, where = "tenant-a") =>
  api.get<SyncSecret>(pathOf(where, metadata.uid));

export const secretIn = async ({ api }: Management, name: string, where = "tenant-a") =>
  api.get<V1Secret>(`/api/v1/namespaces/${where}/secrets/${name}`);

export const readyOf = (object: SyncSecret | undefined) =>
  object?.status?.conditions?.find(({ type }) => type === "Ready");

/** Waits until the tenant's object reports the reason. */
export async function untilReason(
  tenant: Tenant,
  name: string,
  reason: string,
  namespace?: string,
): Promise<SyncSecret> {
  return await until(
    `${name} is ${reason}`,
    async () => {
      const object = await objectIn(tenant, name, namespace);
      const ready = readyOf(object);
      const current = ready?.observedGeneration === object?.metadata.generation;
      return ready?.reason === reason && current && object;
    },
    { timeout: 90_000, seen: async () => JSON.stringify((await objectIn(tenant, name))?.status) },
  );
}

/** Waits until the Secret that the tenant's object names has this content. Returns the Secret. */
export async function untilSecret(
  tenant: Tenant,
  management: Management,
  name: string,
  expected: Readonly<{ data: Readonly<Record<string, string>>; type?: string }>,
  namespace?: string,
): Promise<V1Secret> {
  const { data, type = "Opaque" } = expected;
  const reported = (kind: string | undefined, all: object) =>
    JSON.stringify([kind, Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
  const readSecret = async () => {
    const { status } = (await objectIn(tenant, name, namespace)) ?? {};
    return status?.secretName === undefined
      ? undefined
      : await secretIn(management, status.secretName);
  };
  return await until(
    `the Secret of ${name} is there`,
    async () => {
      const secret = await readSecret();
      return secret && reported(secret.type, secret.data ?? {}) === reported(type, data) && secret;
    },
    { timeout: 60_000, seen: async () => JSON.stringify(await objectIn(tenant, name, namespace)) },
  );
}

export const base64 = (text: string): string => Buffer.from(text).toString("base64");

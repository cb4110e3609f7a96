/**
 * A management cluster with manifests/fleet, and workload clusters with their own API servers,
 * declared as Cluster API does: one namespace each, with the kubeconfig in a Secret.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type V1Secret } from "@kubernetes/client-node";
import type { ClusterStatus, FleetSecret, FleetSecretSpec } from "#api/fleet-secret.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { freshBundle } from "#tools/build/bundle.ts";
import { objectsOf as documentsOf } from "#tools/install/yaml.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { keepRunning, lostLease, portOf, startProgram } from "../cluster/program.ts";
import { run } from "../cluster/run.ts";
import { dataKubeconfig } from "../controller/guest.ts";
import { writeKubeconfig } from "../controller/plane.ts";
import { FakeServer } from "../harness/api/server.ts";

const root = join(import.meta.dirname, "../..");
const account = "global-pull-secret-fleet";
const plugin = join(root, "dist/kubectl-pull_secret.cjs");

export type GuestCluster = Readonly<{ cluster: Cluster; api: Api; kubeconfig: string }>;
export type Home = GuestCluster;

const apiOf = (cluster: Cluster): Api => {
  return connect(loadKubeConfig(cluster.kubeconfig), () => {});
};

export async function startHome(): Promise<Home> {
  await freshBundle();
  const cluster = await startCluster({ nodes: 0 });
  await cluster.kubectl("apply", "-k", join(root, "manifests/fleet"));
  await cluster.untilServed("fleetsecrets.globalpullsecret.io");
  const its = ["-n", "kube-system"];
  await cluster.kubectl("scale", `deployment/${account}`, ...its, "--replicas=0");
  const token = (await cluster.kubectl("create", "token", account, ...its, "--duration=4h")).trim();
  const kubeconfig = writeKubeconfig(cluster, "fleet", cluster.server, token);
  return { cluster, api: apiOf(cluster), kubeconfig };
}

/** A management cluster in which the fleet's controller runs as a pod with its own rights. */
export const homeOf = (cluster: Cluster): Home => {
  return { cluster, api: apiOf(cluster), kubeconfig: cluster.kubeconfig };
};

/** A cluster with an account that has exactly the rights of `fleet rbac` for this target. */
export async function startGuest(target = "kube-system/pull-secret"): Promise<GuestCluster> {
  return await guestOf(await startCluster({ nodes: 0 }), target);
}

export async function guestOf(
  cluster: Cluster,
  target = "kube-system/pull-secret",
): Promise<GuestCluster> {
  await freshBundle();
  const rights = await run([process.execPath, plugin, "fleet", "rbac", "--target", target]);
  const file = join(cluster.directory, "fleet-rbac.yaml");
  writeFileSync(file, rights);
  await cluster.kubectl("apply", "-f", file);
  const asks = ["create", "token", account, "-n", "kube-system", "--duration=4h"];
  const token = (await cluster.kubectl(...asks)).trim();
  return { cluster, api: apiOf(cluster), kubeconfig: dataKubeconfig(cluster, { token }) };
}

/**
 * Fake clusters on one port. Each has the CRD GlobalPullSecret, like a cluster that runs the
 * product.
 */
export const startFakes = (): Promise<FakeServer> =>
  FakeServer.start(readFileSync(join(root, "manifests/chart/crds/globalpullsecrets.yaml"), "utf8"));

export const placedIn = (fakes: FakeServer, name: string): V1Secret | undefined =>
  fakes.api(name).object<V1Secret>("/api/v1/namespaces/kube-system/secrets/pull-secret");

export const labelled = { "capi-pull-secret": "true" };

/** Declares a workload cluster as Cluster API does. */
export async function declareGuest(
  { cluster }: Home,
  name: string,
  kubeconfig: string,
  labels: object,
): Promise<void> {
  await cluster.apply(...objectsOf(name, kubeconfig, labels));
}

const objectsOf = (name: string, kubeconfig: string, labels: object) => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } },
  {
    apiVersion: "v1",
    kind: "Secret",
    type: "cluster.x-k8s.io/secret",
    metadata: { name: `${name}-kubeconfig`, namespace: name },
    data: { value: Buffer.from(kubeconfig).toString("base64") },
  },
];

/** Declares many workload clusters at once, not selected yet. Their label is `fleet=bench`. */
export async function declareGuests(
  { cluster }: Home,
  guests: readonly (readonly [name: string, kubeconfig: string])[],
): Promise<void> {
  await cluster.apply(
    ...guests.flatMap(([name, kubeconfig]) => objectsOf(name, kubeconfig, { fleet: "bench" })),
  );
}

/** The FleetSecret of the walk-through, with short pauses. */
export const fleetSecret = (spec: Partial<FleetSecretSpec> = {}, name = "pull-secret") => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "FleetSecret",
  metadata: { name, namespace: "kube-system" },
  spec: {
    secretRef: { name: "source-pull-secret" },
    clusterAPI: { namespaceSelector: { matchLabels: labelled } },
    target: { name: "pull-secret" },
    removal: { grace: "5s", deadline: "10s" },
    ...spec,
  },
});

const path = "/apis/globalpullsecret.io/v1alpha1/namespaces/kube-system/fleetsecrets";
export const objectIn = async ({ api }: Home, name = "pull-secret") =>
  api.get<FleetSecret>(`${path}/${name}`);

export async function stateOf(home: Home, guest: string): Promise<ClusterStatus | undefined> {
  return (await objectIn(home))?.status?.clusters?.find(({ name }) => name === guest);
}

export async function untilState(
  home: Home,
  guest: string,
  state: ClusterStatus["state"],
  reason = "",
): Promise<void> {
  await until(
    `${guest} is ${state} ${reason}`,
    async () => {
      const entry = await stateOf(home, guest);
      return entry?.state === state && (entry.reason ?? "").includes(reason);
    },
    { timeout: 90_000, seen: async () => JSON.stringify((await objectIn(home))?.status) },
  );
}

export const targetIn = async ({ api }: GuestCluster, name = "pull-secret") =>
  api.get<V1Secret>(`/api/v1/namespaces/kube-system/secrets/${name}`);

/** Waits until the cluster's Secret has this content and type. */
export async function untilPlaced(
  guest: GuestCluster,
  data: Readonly<Record<string, string>>,
  type = "kubernetes.io/dockerconfigjson",
  name = "pull-secret",
): Promise<void> {
  // Sorts the wanted keys, because the API server returns keys in alphabetical order.
  const text = (is: unknown, of: Readonly<Record<string, string>> = {}) =>
    JSON.stringify([is, Object.entries(of).toSorted(([key], [other]) => (key < other ? -1 : 1))]);
  const expected = text(type, data);
  const readContent = async () => {
    const secret = await targetIn(guest, name);
    return text(secret?.type, secret?.data);
  };
  await until("the Secret is placed", async () => (await readContent()) === expected, {
    timeout: 60_000,
    seen: readContent,
  });
}

const manifests = documentsOf(readFileSync(join(root, "manifests/fleet/rendered.yaml"), "utf8"));

type Container = Readonly<{
  command: readonly string[];
  env: readonly Readonly<{ name: string; value?: string }>[];
}>;

/** The flags of Node and the environment, from the Deployment. */
function deployed() {
  const deployment = manifests.find(({ kind }) => kind === "Deployment");
  if (deployment === undefined) throw new Error("manifests/fleet has no Deployment");
  const { template } = deployment["spec"] as {
    template: { spec: { containers: [Container] } };
  };
  const [{ command, env }] = template.spec.containers;
  const variables = env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]));
  return {
    flags: command.slice(1, -1),
    env: Object.fromEntries(variables) as Record<string, string>,
  };
}

type Start = Readonly<{
  /** Whether the controller has the limits of its Deployment. */
  asDeployed?: boolean;
  /**
   * For tests of how the controller ends: does not restart a controller that has lost its Lease.
   */
  once?: boolean;
}>;

export function startFleet({ kubeconfig }: Home, { asDeployed = false, once = false }: Start = {}) {
  const { flags: limits, env } = asDeployed ? deployed() : { flags: [], env: {} };
  const all = ["--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0"];
  const argv = [process.execPath, ...limits, join(root, "dist/fleet.cjs"), ...all];
  const start = () => startProgram(argv, env);
  const program = once ? start() : keepRunning(start, lostLease);
  return Object.assign(program, {
    port: () => portOf(program),
    [Symbol.asyncDispose]: async () => void (await program.stop()),
  });
}

/** Deletes the objects, the source, the Lease, and the target in every cluster. */
export async function clear(
  { cluster }: Home,
  guests: readonly GuestCluster[],
  target = "pull-secret",
): Promise<void> {
  const none = ["-n", "kube-system", "--ignore-not-found"];
  const finalizers = JSON.stringify({ metadata: { finalizers: [] } });
  const names = await cluster.kubectl("get", "fleetsecrets", "-n", "kube-system", "-o", "name");
  for (const name of names.split("\n").filter(Boolean)) {
    await cluster.kubectl("delete", name, "-n", "kube-system", "--wait=false");
    const patch = ["patch", name, "-n", "kube-system", "--type=merge", "-p", finalizers];
    await cluster.kubectl(...patch).catch(() => "");
  }
  await cluster.kubectl("delete", "secret", "source-pull-secret", ...none);
  await cluster.kubectl("delete", "lease", account, ...none);
  for (const guest of guests) await guest.cluster.kubectl("delete", "secret", target, ...none);
}

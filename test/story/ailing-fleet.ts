/**
 * A fleet of a hundred clusters, and its controller. Ten of the clusters are broken in ten ways.
 * The management cluster is in memory; one server simulates the other clusters, over HTTP/2 and
 * TLS.
 */
import { readFileSync } from "node:fs";
import { pino } from "pino";
import { openMeters } from "#runtime/metrics.ts";
import type { FleetSecret } from "#api/fleet-secret.ts";
import { createFleets } from "#fleet/fleets.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { until } from "../cluster/await.ts";
import { FakeApi, type ApiRequest } from "../harness/api/api.ts";
import { directly } from "../harness/api/direct.ts";
import { refuse } from "../harness/api/protocol.ts";
import { FakeServer } from "../harness/api/server.ts";

const definition = (name: string): string => readFileSync(`manifests/chart/${name}.yaml`, "utf8");
const secrets = "/api/v1/namespaces/kube-system/secrets";
const target = "fleet-pull-secret";
const content = { a: Buffer.from("1").toString("base64") };
const namespace = { namespace: "kube-system" };

/** Refuses each write of a Secret with this status and message. */
function denies(api: FakeApi, status: number, message: string): void {
  api.refuses = ({ path }: ApiRequest, verb) =>
    path.includes("/secrets/") && verb !== "get" ? refuse(status, "Refused", message) : undefined;
}

type Broken = Readonly<{
  is: string;
  /** The code in status.failures. */
  reason: string | undefined;
  make: (fakes: FakeServer, name: string) => Promise<void> | void;
  kubeconfig?: (fakes: FakeServer, name: string) => string;
}>;

const runsAProgram: Broken["kubeconfig"] = (fakes, name) =>
  fakes
    .kubeconfig(name)
    .replace(
      '{"token":"fake"}',
      '{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"true","interactiveMode":"Never"}}',
    );

async function listing(fakes: FakeServer, name: string, status: object): Promise<void> {
  const path = "/apis/globalpullsecret.io/v1alpha1/globalpullsecrets";
  const object = {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "GlobalPullSecret",
    metadata: { name: "cluster" },
    spec: { sources: [{ name: "fleet", secretRef: { name: target } }] },
    status,
  };
  await directly(fakes.api(name), "admin").create(path, object);
  await directly(fakes.api(name), "admin").apply(`${path}/cluster/status`, object, {
    manager: "admin",
    force: true,
  });
}

const broken: readonly Broken[] = [
  { is: "an API server that fails", reason: "GPS438", make: (f, name) => f.become(name, "fails") },
  {
    is: "a kubeconfig that runs a program",
    reason: "GPS437",
    make: () => {},
    kubeconfig: runsAProgram,
  },
  { is: "no kubeconfig", reason: "GPS436", make: () => {}, kubeconfig: () => "" },
  {
    is: "a foreign Secret",
    reason: "GPS435",
    async make(fakes, name) {
      await directly(fakes.api(name), "admin").create(secrets, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: target, ...namespace },
        type: "Opaque",
        data: {},
      });
    },
  },
  {
    is: "a policy that denies it",
    reason: "GPS439",
    make: (f, name) => denies(f.api(name), 422, "ValidatingAdmissionPolicy 'x' denied request: no"),
  },
  { is: "no right to write", reason: "GPS439", make: (f, name) => denies(f.api(name), 403, "no") },
  { is: "no namespace", reason: "GPS439", make: (f, name) => denies(f.api(name), 404, "none") },
  {
    is: "admission that changes it",
    reason: "GPS440",
    make(fakes, name) {
      fakes.api(name).store.admit = (object) => {
        if (object.kind === "Secret") Object.assign(object, { data: {} });
      };
    },
  },
  {
    is: "an API server that finds it invalid",
    reason: "GPS475",
    make: (fakes, name) => denies(fakes.api(name), 422, "data: Invalid value"),
  },
  // It is slow only after two minutes, so status does not list it as a failure here.
  {
    is: "a GlobalPullSecret that never becomes current",
    reason: undefined,
    make: (fakes, name) => listing(fakes, name, { observedGeneration: 0 }),
  },
];

/** The status of a GlobalPullSecret whose nodes have every version of the Secret. */
const proved = {
  observedGeneration: 1,
  sources: [{ name: "fleet", resourceVersion: "99999999", servedResourceVersion: "99999999" }],
};
const isWell = { make: (fakes: FakeServer, name: string) => listing(fakes, name, proved) };

type AilingFleet = AsyncDisposable &
  Readonly<{
    fakes: FakeServer;
    /**
     * The clusters' names, in order. Every tenth cluster is broken, beginning with the first
     * cluster.
     */
    names: readonly string[];
    status: () => FleetSecret["status"];
    /** Milliseconds until 90 clusters have the Secret and the status lists the nine that fail. */
    untilServed: () => Promise<number>;
    /**
     * Replaces the controller. Returns when the new controller has sent requests to the 90 healthy
     * clusters.
     */
    restart: () => Promise<void>;
    /** The conditions that were True in any status since the controller's last start. */
    reported: () => ReadonlySet<string>;
  }>;

/** The content of the target Secret, and its path in a cluster. */
export const brought = { data: content, path: `${secrets}/${target}` };

export async function startAilingFleet(data: object = content): Promise<AilingFleet> {
  const fakes = await FakeServer.start(definition("crds/globalpullsecrets"));
  const api = new FakeApi();
  api.store.define(definition("files/fleetsecrets/fleetsecrets"));
  const home = directly(api, "global-pull-secret-fleet");
  const admin = directly(api, "admin");
  const add = async (path: string, object: object) => void (await admin.create(path, object));
  const kubeSystem = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } };
  await add("/api/v1/namespaces", kubeSystem);
  const names = Array.from({ length: 100 }, (_, n) => `c${String(n).padStart(2, "0")}`);
  for (const [at, name] of names.entries()) {
    const failing: Broken | undefined = at % 10 === 0 ? broken[at / 10] : undefined;
    await (failing ?? isWell).make(fakes, name);
    const metadata = { name, labels: { fleet: "x", name } };
    await add("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
    const kubeconfig = failing?.kubeconfig?.(fakes, name) ?? fakes.kubeconfig(name);
    const value = Buffer.from(kubeconfig).toString("base64");
    if (value === "") continue;
    await add(`/api/v1/namespaces/${name}/secrets`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: `${name}-kubeconfig`, namespace: name },
      data: { value },
    });
  }
  await add(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "source", ...namespace },
    type: "Opaque",
    data,
  });
  const objects = "/apis/globalpullsecret.io/v1alpha1/namespaces/kube-system/fleetsecrets";
  await add(objects, {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "FleetSecret",
    metadata: { name: "one", ...namespace },
    spec: {
      secretRef: { name: "source" },
      clusterAPI: { namespaceSelector: { matchLabels: { fleet: "x" } } },
      target: { name: target },
      // Without a healthy canary, a random order could begin with the cluster that is stuck.
      rollout: { canaries: { matchLabels: { name: "c01" } } },
    },
  });
  const start = () => startFleets(home);
  const begun = performance.now();
  let end = start();
  const status = () => api.object<FleetSecret>(`${objects}/one`)?.status;
  // Once listed, such as after a late answer, c90 stays listed until it is current.
  const named = () =>
    (status()?.failures ?? []).flatMap(({ name, reason }) =>
      name === "c90" ? [] : `${name} ${reason}`,
    );
  const sorted = (all: readonly string[]) =>
    all.toSorted((failure, other) => (failure < other ? -1 : 1)).join();
  const expected = sorted(
    broken.flatMap(({ reason }, at) => (reason === undefined ? [] : `c${at}0 ${reason}`)),
  );
  return {
    fakes,
    names,
    status,
    async untilServed() {
      await until(
        "the ten are named, and all others have it",
        () => status()?.summary === "90/100" && sorted(named()) === expected,
        { timeout: 50_000, seen: async () => JSON.stringify([status()?.counts, named()]) },
      );
      return performance.now() - begun;
    },
    async restart() {
      await end();
      api.asked.length = 0;
      fakes.forget();
      end = start();
      const well = names.filter((_, at) => at % 10 !== 0);
      const all = () => well.every((name) => fakes.requests(name).length > 0);
      await until("all others are asked", all, { timeout: 20_000 });
    },
    reported: () =>
      new Set(
        api.asked.flatMap(({ resource, body }) => {
          if (!resource.endsWith("/fleetsecrets/status")) return [];
          const { conditions = [] } = (body as FleetSecret).status ?? {};
          return conditions
            .filter((condition) => condition.status === "True")
            .map(({ type }) => type);
        }),
      ),
    async [Symbol.asyncDispose]() {
      await end();
      await fakes[Symbol.asyncDispose]();
    },
  };
}

/**
 * Starts the part of the fleet that serves FleetSecrets of kube-system; returns a function that
 * ends it.
 */
export function startFleets(home: Cluster): () => Promise<void> {
  const stop = new AbortController();
  const ended = createFleets({
    home,
    holds: () => true,
    log: pino({ level: "silent" }),
    meters: openMeters(),
    namespace: "kube-system",
    clusterNamespaces: [],
  }).until(stop.signal);
  return async () => {
    stop.abort();
    await ended;
  };
}

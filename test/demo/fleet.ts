/** The demo of a fleet: one FleetSecret reaches the nodes of two clusters. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { V1Secret } from "@kubernetes/client-node";
import type { FleetSecret } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections, fleetSecretsIn } from "#kube/client/paths.ts";
import { conditionOf } from "#kube/conditions.ts";
import { until } from "../cluster/await.ts";
import { startProgram } from "../cluster/program.ts";
import { directly } from "../harness/api/direct.ts";
import { FakeServer } from "../harness/api/server.ts";
import type { Narrator } from "./narrator.ts";
import { showPlugin } from "./offline.ts";
import { ScriptedCluster } from "./scripted.ts";
import {
  administrator,
  base64,
  proved,
  seconds,
  steer,
  writePullSecret,
} from "./scripted-story.ts";

const definition = "manifests/chart/files/fleetsecrets/fleetsecrets.yaml";
const fleet = join(import.meta.dirname, "../../dist/fleet.cjs");
const source = "source-pull-secret";
const target = "fleet-pull-secret";
const fleetSecretPath = `${fleetSecretsIn("kube-system")}/pull-secret`;

/** What the administrator declares in the management cluster. */
const fleetSecret = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "FleetSecret",
  metadata: { name: "pull-secret", namespace: "kube-system" },
  spec: {
    secretRef: { name: source },
    clusterAPI: { namespaceSelector: { matchLabels: { fleet: "demo" } } },
    target: { name: target },
    rollout: { canaries: { matchLabels: { stage: "first" } } },
    removal: { grace: "1s" },
  },
};

type Fleet = Readonly<{
  /** The administrator's calls to the management cluster. */
  home: Cluster;
  kubeconfig: string;
  staging: ScriptedCluster;
  production: ScriptedCluster;
  /** All that the programs have logged. */
  output: () => string;
}>;

/** Throws ClaimFailed at the first claim that does not hold. */
export async function runFleet(narrator: Narrator): Promise<void> {
  narrator.step("clusters");
  const directory = mkdtempSync(join(tmpdir(), "fleet-"));
  const kubeconfig = join(directory, "kubeconfig");
  try {
    await using server = await FakeServer.start(readFileSync(definition, "utf8"));
    writeFileSync(kubeconfig, server.kubeconfig("management"), { mode: 0o600 });
    const home = directly(server.api("management"), "administrator");
    await createNamespace(home, "kube-system");
    await using staging = await startMember(home, "staging", { stage: "first" });
    await using production = await startMember(home, "production", {});
    const argv = [process.execPath, fleet, "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0"];
    const program = startProgram(argv);
    const output = () => program.output() + staging.output + production.output;
    try {
      await showFleet({ home, kubeconfig, staging, production, output }, narrator);
    } finally {
      await program.stop();
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  narrator.end();
}

/**
 * Starts a cluster with the product and one node. Declares it in the management cluster as Cluster
 * API does: a namespace with the cluster's kubeconfig.
 */
async function startMember(
  home: Cluster,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<ScriptedCluster> {
  const cluster = await ScriptedCluster.start();
  await cluster.addNode(`${name}-node`);
  const sources = [{ name: "fleet", secretRef: { name: target } }];
  await steer(cluster, { sources, rollout: { probation: "3s" } });
  cluster.startController();
  await createNamespace(home, name, { fleet: "demo", ...labels });
  await home.create(`/api/v1/namespaces/${name}/secrets`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${name}-kubeconfig`, namespace: name },
    data: { value: base64(readFileSync(cluster.kubeconfig, "utf8")) },
  });
  return cluster;
}

async function createNamespace(home: Cluster, name: string, labels: object = {}): Promise<void> {
  const metadata = { name, labels };
  await home.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
}

async function showFleet(fleetOf: Fleet, narrator: Narrator): Promise<void> {
  const { home, kubeconfig, staging, production } = fleetOf;
  narrator.step("fleetSecret");
  const created = performance.now();
  await rotate(home, "robot:one");
  await home.apply(fleetSecretPath, fleetSecret, administrator);
  const copied = untilCopied(fleetOf).then(() => proved(staging));
  await untilBothHave(fleetOf, "robot:one");
  narrator.claim("bothClusters", true, { seconds: seconds(created) });
  narrator.claim("stagingFirst", (await copied) === 1);
  await untilReady(fleetOf);
  await showPlugin({ kubeconfig }, narrator, "fleet", "status");

  narrator.step("fleetRotated");
  const written = performance.now();
  await rotate(home, "robot:two");
  await untilBothHave(fleetOf, "robot:two");
  narrator.claim("bothRotated", true, { seconds: seconds(written) });

  narrator.step("fleetDeleted");
  const deleted = performance.now();
  const { metadata } = (await home.get<V1Secret>(fleetSecretPath)) ?? {};
  await home.remove(fleetSecretPath, metadata?.uid ?? "");
  const isGone = async (cluster: ScriptedCluster) =>
    (await copyIn(cluster)) === undefined && cluster.nodes[0]?.directory.file === undefined;
  await until(
    "no copy and no credential is left",
    async () => (await isGone(staging)) && (await isGone(production)),
    { timeout: 120_000, seen: fleetOf.output },
  );
  narrator.claim("noCopy", true, { seconds: seconds(deleted) });
}

const rotate = (home: Cluster, pair: string): Promise<void> =>
  writePullSecret(home, source, { auths: { "registry.example": { auth: base64(pair) } } });

const copyIn = ({ admin }: ScriptedCluster) =>
  admin.get<V1Secret>(`${collections.secrets}/${target}`);

const hasNode = ({ nodes }: ScriptedCluster, pair: string): boolean =>
  nodes[0]?.directory.file?.includes(base64(pair)) === true;

async function untilCopied({ production, output }: Fleet): Promise<void> {
  const isCopied = async () => (await copyIn(production)) !== undefined;
  await until("production has the Secret", isCopied, { timeout: 120_000, seen: output });
}

async function untilBothHave({ staging, production, output }: Fleet, pair: string): Promise<void> {
  const have = () => hasNode(staging, pair) && hasNode(production, pair);
  await until("both nodes have it", have, { timeout: 120_000, seen: output });
}

async function untilReady({ home, output }: Fleet): Promise<void> {
  const isReady = async () => {
    const object = await home.get<FleetSecret>(fleetSecretPath);
    return conditionOf(object?.status, "Ready")?.status === "True";
  };
  await until("the FleetSecret is Ready", isReady, { seen: output });
}

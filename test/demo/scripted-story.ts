/** The demo on scripted nodes, from the first Secret to nodes without a trace of the product. */
import { existsSync, readdirSync, writeFileSync, chmodSync } from "node:fs";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections, globalPullSecretPath, owned } from "#kube/client/paths.ts";
import type { NodePullSecret } from "#api/node-pull-secret.ts";
import { until } from "../cluster/await.ts";
import type { Narrator } from "./narrator.ts";
import { showPlugin } from "./offline.ts";
import { spoiled, type ScriptedCluster, type ScriptedNode } from "./scripted.ts";

const registry = "registry.example";
const secretPath = `${collections.secrets}/additional-pull-secret`;
export const administrator = { manager: "administrator", force: true };
export const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Another program's file on node1, in its own formatting. The other nodes have no file. */
const others =
  '{\n\t"auths": { "elsewhere.example":  {"auth": "c29tZWJvZHk6ZWxzZQ=="} },\n  "HttpHeaders": {"X-Site": "b"}\n}\n';

type Entries = Readonly<Record<string, string>>;

/**
 * Throws ClaimFailed at the first claim that does not hold. `probation`: of each kubelet; by
 * default the shortest that the CRD allows.
 */
export async function runScripted(
  cluster: ScriptedCluster,
  narrator: Narrator,
  probation = "3s",
): Promise<void> {
  await showCreation(cluster, narrator, probation);
  await showRotation(cluster, narrator);
  await showBadEdit(cluster, narrator);
  await showJoiner(cluster, narrator);
  await showFailure(cluster, narrator);
  await showRemoval(cluster, narrator);
}

async function showCreation(
  cluster: ScriptedCluster,
  narrator: Narrator,
  probation: string,
): Promise<void> {
  narrator.step("scripted");
  const { directory } = await cluster.addNode("node1");
  writeFileSync(directory.config, others);
  chmodSync(directory.config, 0o640);
  await cluster.addNode("node2");

  narrator.step("controller");
  await steer(cluster, { rollout: { probation } });
  cluster.startController();
  await untilCondition(cluster, "Ready", "NoSource");
  narrator.claim("nothingYet", (await ours(cluster)).length === 0);

  narrator.step("created");
  const created = performance.now();
  const provedFirst = watchOrder(cluster);
  await declare(cluster, { [registry]: "robot:one" });
  await untilEverywhere(cluster, base64("robot:one"), narrator);
  narrator.claim("delivered", true, { seconds: seconds(created) });
  await untilCondition(cluster, "Ready", "InForce");
  narrator.claim("oneByOne", (await provedFirst()) === 1);
  for (const command of ["status", "nodes"]) await showPlugin(cluster, narrator, command);
  narrator.claim("neighbour", directory.file?.includes("elsewhere.example") === true);
}

async function showRotation(cluster: ScriptedCluster, narrator: Narrator): Promise<void> {
  narrator.step("changed");
  const before = await cluster.agents();
  const begun = performance.now();
  await declare(cluster, { [registry]: "robot:two" });
  await untilEverywhere(cluster, base64("robot:two"), narrator);
  const took = seconds(begun);
  await untilCondition(cluster, "Ready", "InForce");
  const after = await cluster.agents();
  narrator.claim("sameAgents", before.join() === after.join(), { seconds: took });
}

async function showBadEdit(cluster: ScriptedCluster, narrator: Narrator): Promise<void> {
  narrator.step("badEdit");
  const files = cluster.nodes.map(({ directory }) => directory.file);
  await write(cluster, { auths: { [registry]: { auth: "%%%" } } });
  narrator.writeLine(await untilCondition(cluster, "Stalled", "SourceRejected"));
  const isSame = cluster.nodes.every(({ directory }, at) => directory.file === files[at]);
  narrator.claim("lastGood", isSame);
}

async function showJoiner(cluster: ScriptedCluster, narrator: Narrator): Promise<void> {
  narrator.step("joins");
  const begun = performance.now();
  await cluster.addNode("node3");
  await untilEverywhere(cluster, base64("robot:two"), narrator);
  narrator.claim("joinedToo", true, { seconds: seconds(begun) });
  const { length } = cluster.nodes;
  await until("its kubelet is restarted", async () => (await proved(cluster)) === length);
}

async function showFailure(cluster: ScriptedCluster, narrator: Narrator): Promise<void> {
  narrator.step("broken");
  const previous = cluster.nodes.map(({ directory }) => directory.file);
  const restarts = () => cluster.nodes.map(({ systemd }) => systemd.restartCalls);
  const before = restarts();
  await declare(cluster, { [registry]: "robot:two", [spoiled]: "robot:three" });
  narrator.writeLine(await untilCondition(cluster, "Stalled", "Halted"));
  const failed = restarts().findIndex((count, at) => count !== before[at]);
  const node = cluster.nodes[failed];
  const isBack = node?.directory.file === previous[failed] && node?.systemd.active === "active";
  narrator.claim("rolledBack", isBack, { node: node?.name, seen: node?.systemd.active });
  const isHalted = restarts().every((count, at) => at === failed || count === before[at]);
  narrator.claim("halted", isHalted, { seen: restarts().join() });
  const begun = performance.now();
  await declare(cluster, { [registry]: "robot:two", "corrected.example": "robot:three" });
  await untilEverywhere(cluster, "corrected.example", narrator);
  const took = seconds(begun);
  await untilCondition(cluster, "Ready", "InForce");
  narrator.claim("healed", true, { seconds: took });
}

async function showRemoval(cluster: ScriptedCluster, narrator: Narrator): Promise<void> {
  narrator.step("deleted");
  const begun = performance.now();
  const { admin, nodes } = cluster;
  const secret = await admin.get<{ metadata: { uid: string } }>(secretPath);
  await admin.remove(secretPath, secret?.metadata.uid ?? "");
  await until("our objects are gone", async () => (await ours(cluster)).length === 0);
  narrator.claim("gone", true, { seconds: seconds(begun) });
  const [first, ...rest] = nodes.map(({ directory }) => directory.file);
  narrator.claim("sameBytes", first === others, { seen: first });
  const isWithout = rest.every((file) => file === undefined);
  narrator.claim("noFile", isWithout, { seen: rest.join() });
  const traces = nodes.filter(({ directory }) => existsSync(directory.folder));
  const kept = nodes.flatMap(({ directory }) => readdirSync(directory.kubelet));
  narrator.claim("noTrace", traces.length === 0 && kept.join() === "config.json", {
    seen: kept.join(),
  });
}

/** Names of the objects that the controller makes, as far as they exist. */
async function ours({ admin }: ScriptedCluster): Promise<string[]> {
  const objects = Object.entries(owned);
  const present = await Promise.all(
    objects.map(async ([name, path]) => ((await admin.get(path)) === undefined ? [] : [name])),
  );
  return present.flat();
}

async function declare(cluster: ScriptedCluster, entries: Entries): Promise<void> {
  const auths = Object.entries(entries).map(([host, pair]) => [host, { auth: base64(pair) }]);
  await write(cluster, { auths: Object.fromEntries(auths) as object });
}

/** Declares the GlobalPullSecret, whose withdrawals wait for nobody. */
export async function steer({ admin }: ScriptedCluster, spec: object): Promise<void> {
  const meta = { apiVersion: "globalpullsecret.io/v1alpha1", kind: "GlobalPullSecret" };
  const steered = { ...spec, withdrawal: { grace: "0s" } };
  const policy = { ...meta, metadata: { name: "cluster" }, spec: steered };
  await admin.apply(globalPullSecretPath, policy, administrator);
}

async function write({ admin }: ScriptedCluster, document: object): Promise<void> {
  await writePullSecret(admin, "additional-pull-secret", document);
}

/** Writes a pull secret in kube-system. */
export async function writePullSecret(
  admin: Cluster,
  secret: string,
  document: object,
): Promise<void> {
  const body = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: secret },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": base64(JSON.stringify(document)) },
  };
  await admin.apply(`${collections.secrets}/${secret}`, body, administrator);
}

/** Waits until each node's file contains the text. */
async function untilEverywhere(
  cluster: ScriptedCluster,
  text: string,
  narrator: Narrator,
): Promise<void> {
  const { nodes } = cluster;
  const has = ({ directory }: ScriptedNode) => directory.file?.includes(text) === true;
  await until(
    "every node has the Secret",
    () => {
      const served = nodes.filter((node) => has(node)).map(({ name }) => name);
      narrator.live(`nodes that have it: ${served.join(", ") || "none yet"}`);
      return served.length === nodes.length;
    },
    { seen: () => cluster.output },
  );
}

/** Waits until the condition is True for this reason. Returns the condition's message. */
async function untilCondition(
  cluster: ScriptedCluster,
  type: string,
  reason: string,
): Promise<string> {
  const fits = (condition: Readonly<{ type: string; status: string; reason: string }>) =>
    condition.type === type && condition.status === "True" && condition.reason === reason;
  const { message } = await until(
    `${type} is True, because of ${reason}`,
    async () => {
      const object = await cluster.admin.get<GlobalPullSecret>(globalPullSecretPath);
      return object?.status?.conditions?.find((condition) => fits(condition));
    },
    { seen: () => cluster.output },
  );
  return `${type}  ${reason}  ${message}`;
}

/**
 * Counts the nodes that had reported Proved when systemd was asked for the second restart. The
 * returned function waits for that restart.
 */
function watchOrder(cluster: ScriptedCluster): () => Promise<number> {
  let restarts = 0;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  for (const { systemd } of cluster.nodes)
    systemd.onCall = (call) => {
      if (call === "RestartUnit") restarts += 1;
      if (call === "RestartUnit" && restarts === 2) proved(cluster).then(resolve, reject);
    };
  return () => promise;
}

/** How many nodes have reported Proved. */
export async function proved({ admin, nodes }: ScriptedCluster): Promise<number> {
  const reports = await Promise.all(
    nodes.map(({ name }) => admin.get<NodePullSecret>(`${collections.nodePullSecrets}/${name}`)),
  );
  return reports.filter((object) => object?.status?.result === "Proved").length;
}

export const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(1);

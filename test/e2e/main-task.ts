/**
 * The steps of the product's main task on a real cluster, from the installation to the removal.
 * `npm run demo -- --cluster` plays them and prints what they return; promise.test.ts asserts it.
 */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { auths } from "./nodes.ts";
import { podOn, stateOf } from "./pods.ts";
import * as product from "./product.ts";

/** Shows progress as one line, which replaces the line before. */
type Live = (line: string) => void;

const silent: Live = () => {};

/** Another program's file on node1, in its own formatting. The other nodes have no file. */
export const others =
  '{\n\t"auths": { "elsewhere.example":  {"auth": "c29tZWJvZHk6ZWxzZQ=="} },\n  "HttpHeaders": {"X-Site": "b"}\n}\n';

/** Installs the product on nodes of which node1 has another program's file. */
export async function install(cluster: Cluster, ...args: readonly string[]): Promise<void> {
  cluster.nodes[0]?.writeFile("config.json", others, 0o640);
  await product.installProduct(cluster, { args });
}

/** Starts a pod NAME-NODE with this image on each node. */
export async function startPods(cluster: Cluster, name: string, image: string): Promise<void> {
  await cluster.apply(...cluster.nodes.map((node) => podOn(node, `${name}-${node.name}`, image)));
}

/** Waits until the pod NAME-NODE of each node is in one of these states. */
export async function untilPods(
  cluster: Cluster,
  name: string,
  expectedStates: readonly string[],
  live = silent,
): Promise<void> {
  const pods = cluster.nodes.map((node) => `${name}-${node.name}`);
  const look = () => Promise.all(pods.map((pod) => stateOf(cluster, pod)));
  await until(
    `every pod ${name} is ${expectedStates.join(" or ")}`,
    async () => {
      const states = await look();
      live(pods.map((pod, index) => `${pod}: ${states[index]}`).join("   "));
      return states.every((state) => expectedStates.includes(state));
    },
    { timeout: 120_000, every: 200, seen: look },
  );
}

/** Creates the additional Secret with the command of README.md, as `user` if one is given. */
export async function createSecret(cluster: Cluster, user?: string): Promise<void> {
  const file = join(cluster.directory, "auth.json");
  writeFileSync(file, cluster.registry.document("additional"));
  const secret = [names.additionalSecretName, "-n", names.namespace, `--type=${names.secretType}`];
  const how = [`--from-file=.dockerconfigjson=${file}`, ...(user ? [`--as=${user}`] : [])];
  await cluster.kubectl("create", "secret", "generic", ...secret, ...how);
}

/** The three commands with which an administrator sees that the Secret is rolled out. */
export const sights: readonly (readonly string[])[] = [
  ["get", "daemonset", names.agentName, "-n", names.namespace],
  ["get", "secret", names.globalSecretName, "-n", names.namespace],
  ["get", "pods", "-n", names.namespace, "-l", `name=${names.agentName}`],
];

/** Changes the registry's password and the Secret. Waits until every node has the password. */
export async function rotate(cluster: Cluster, live = silent): Promise<void> {
  const { nodes, registry } = cluster;
  const additional = randomBytes(18).toString("base64url");
  await registry.setUsers({ ...registry.users, additional });
  await product.writeAdditional(cluster, registry.document("additional"));
  const { auth } = registry.auth("additional");
  await until(
    "every node has the new password",
    () => {
      const served = nodes.filter((node) => auths(node)[registry.host]?.auth === auth);
      live(`new password: ${served.map(({ name }) => name).join(", ") || "no node yet"}`);
      return served.length === nodes.length;
    },
    { timeout: 120_000, every: 200 },
  );
}

/** Writes an entry that is not base64. Returns the Event with the entry's key path. */
export async function writeInvalid(cluster: Cluster): Promise<product.Event> {
  const bad = { "good.example": { auth: "dTpw" }, "bad.example": { auth: "%%%" } };
  await product.writeAdditional(cluster, JSON.stringify({ auths: bad }));
  return await product.untilEvent(cluster, "Rejected", /auths\["bad\.example"\]\.auth/);
}

/** Deletes the Secret. Waits until none of our objects is left in the cluster. */
export async function remove(cluster: Cluster, live = silent): Promise<void> {
  await product.deleteAdditional(cluster);
  await until(
    "none of our objects is left in the cluster",
    async () => {
      const objects = await product.ourObjects(cluster);
      const kinds = objects.map((name) => name.split("/")[0]?.split(".")[0]);
      live(kinds.length === 0 ? "nothing left" : `still there: ${kinds.join(", ")}`);
      return objects.length === 0;
    },
    { timeout: 120_000, every: 300, seen: () => product.ourObjects(cluster) },
  );
}

/** The text of each node's config.json; undefined if a node has none. */
export const files = ({ nodes }: Cluster): readonly (string | undefined)[] =>
  nodes.map((node) => node.readFile("config.json")?.toString());

/** The paths of all files of ours in the nodes' kubelet directories. Empty if nothing is left. */
export async function traces({ nodes }: Cluster): Promise<string> {
  const name = ["-name", "*global-pull-secret*", "-print"];
  const search = ["find", "/var/lib/kubelet", "-path", "*pods*", "-prune", "-o", ...name];
  return (await Promise.all(nodes.map((node) => node.exec(search)))).join("").trim();
}

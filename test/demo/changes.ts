/** The middle of the demo: a rotation, a joining node, and an edit that breaks kubelets. */
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import * as task from "../e2e/main-task.ts";
import { agents, auths, kubelets } from "../e2e/nodes.ts";
import { podOn, untilState } from "../e2e/pods.ts";
import * as product from "../e2e/product.ts";
import type { Narrator } from "./narrator.ts";

/**
 * Shows a rotation. Throws ClaimFailed if an agent's pod was replaced, because a rotation only
 * patches the pods' annotations.
 */
export async function showChange(cluster: Cluster, narrator: Narrator): Promise<void> {
  narrator.step("changed");
  const before = await pods(cluster);
  const begun = performance.now();
  await task.rotate(cluster, (line) => narrator.live(line));
  const took = seconds(begun);
  await product.rolledOut(cluster);
  const after = await pods(cluster);
  narrator.claim("sameAgents", before.join() === after.join(), { seconds: took });
}

/** Shows that the controller asks the registry before any node gets a new credential. */
export async function showDenied(cluster: Cluster, narrator: Narrator): Promise<void> {
  const { nodes, registry } = cluster;
  narrator.step("wrongPassword");
  await product.steerProduct(cluster, { verification: { mode: "Refuse" } });
  const served = await product.revision(cluster);

  const good = JSON.parse(registry.document("additional")) as { auths: object };
  const entry = { auth: Buffer.from("robot:wrong").toString("base64") };
  await product.writeAdditional(
    cluster,
    JSON.stringify({ auths: { ...good.auths, [`http://${registry.address}`]: entry } }),
  );
  const event = await product.untilEvent(cluster, "Rejected", /GPS341/);
  narrator.writeLine(`${event.type}  ${event.reason}  ${event.message}`);
  const isOnNode = nodes.some((node) => registry.address in auths(node));
  narrator.claim("denied", !isOnNode && (await product.revision(cluster)) === served);
  await product.writeAdditional(cluster, registry.document("additional"));
  await product.steerProduct(cluster, {});
}

export async function showJoiner(cluster: Cluster, narrator: Narrator): Promise<void> {
  narrator.step("joins");
  const image = await cluster.pushApp("team/app:joined");
  const begun = performance.now();
  const node = await cluster.addNode();
  narrator.live(`${node.name} is Ready after ${seconds(begun)} s`);
  const pod = `app-${node.name}`;
  await cluster.apply(podOn(node, pod, image));
  await untilState(cluster, pod, "Running");
  narrator.claim("joined", true, { seconds: seconds(begun) });
  // Does not wait for Ready, because the Secret still has the bad edit.
  await product.untilServed(cluster);
}

/**
 * Makes systemd run a check before each start of a kubelet, so that no kubelet starts with an entry
 * for `spoiled.example`. Ends with a corrected Secret on repaired nodes.
 */
export async function showFailure(cluster: Cluster, narrator: Narrator): Promise<void> {
  const { nodes, registry } = cluster;
  narrator.step("broken");
  const good = JSON.parse(registry.document("additional")) as { auths: object };
  const entry = { auth: Buffer.from("robot:password").toString("base64") };
  const bad = { auths: { ...good.auths, "spoiled.example": entry } };
  const check = "! grep -q spoiled.example /var/lib/kubelet/config.json";
  // With Restart=no systemd does not restart the kubelet, so each failed start is an attempt of the
  // agent.
  for (const node of nodes)
    await node.breakKubelet(`[Service]\nRestart=no\nExecStartPre=/bin/sh -c '${check}'\n`);
  const before = await kubelets(cluster);
  await product.writeAdditional(cluster, JSON.stringify(bad));
  const event = await product.untilEvent(cluster, "RolloutHalted", /failed on 1 node/);
  narrator.writeLine(`${event.type}  ${event.reason}  ${event.message}`);
  const failed = nodes.findIndex(({ name }) => event.message.includes(name));
  const node = nodes[failed];
  if (node === undefined) throw new Error(`the Event names no node: ${event.message}`);
  await cluster.untilReady(node);
  const { ActiveState: state } = await node.unit(["ActiveState"]);
  narrator.claim("rolledBack", state === "active" && !("spoiled.example" in auths(node)), {
    node: node.name,
    seen: state,
  });
  const after = await kubelets(cluster);
  narrator.claim(
    "halted",
    before.every((kubelet, index) => index === failed || kubelet === after[index]),
  );
  for (const node of nodes) await node.healKubelet();
  const begun = performance.now();
  // The corrected document must differ from the document before the bad edit. That document is
  // still in force, so it would not be rolled out again.
  const corrected = { auths: { ...good.auths, "corrected.example": entry } };
  await product.writeAdditional(cluster, JSON.stringify(corrected));
  await until(
    "every node has the corrected Secret",
    () => nodes.every((node) => "corrected.example" in auths(node)),
    { timeout: 120_000, every: 200 },
  );
  const took = seconds(begun);
  await product.rolledOut(cluster);
  narrator.claim("healed", true, { seconds: took });
}

const pods = async (cluster: Cluster): Promise<string[]> =>
  (await agents(cluster)).map(({ metadata }) => metadata.uid).toSorted();

export const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(1);

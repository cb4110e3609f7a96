/** The last part of the demo: rotates a password without a kubelet restart. */
import { randomBytes } from "node:crypto";
import { providerFiles } from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { kubelets } from "../e2e/nodes.ts";
import { podOn, untilState } from "../e2e/pods.ts";
import { prepare } from "../e2e/prepared.ts";
import * as product from "../e2e/product.ts";
import { seconds } from "./changes.ts";
import type { Narrator } from "./narrator.ts";

/** story.ts installs a controller that allows this mode. */
const delivery = { mode: "CredentialProvider" } as const;

/** Prepares the nodes, then rotates once. Throws ClaimFailed if a claim does not hold. */
export async function showRotation(cluster: Cluster, narrator: Narrator): Promise<void> {
  const { nodes, registry } = cluster;
  narrator.step("prepared");
  for (const node of nodes) {
    prepare(node);
    await node.exec(["systemctl", "restart", "kubelet.service"]);
    await cluster.untilReady(node);
  }
  await product.steerProduct(cluster, { delivery });
  await product.writeAdditional(cluster, registry.document("additional"));
  await product.untilServed(cluster);
  const before = await kubelets(cluster);

  narrator.step("rotated");
  const additional = randomBytes(18).toString("base64url");
  await registry.setUsers({ ...registry.users, additional });
  const begun = performance.now();
  await product.writeAdditional(cluster, registry.document("additional"));
  await until("every node answers with it", () =>
    nodes.every((node) => node.readFile(providerFiles.answer)?.includes(additional)),
  );
  const took = seconds(begun);
  const image = await cluster.pushApp("team/app:2");
  await cluster.apply(...nodes.map((node) => podOn(node, `rotated-${node.name}`, image)));
  for (const node of nodes) await untilState(cluster, `rotated-${node.name}`, "Running");
  narrator.claim("nextPull", true, { seconds: took });
  const after = await kubelets(cluster);
  narrator.claim("sameKubelets", before.join() === after.join());
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
}

/**
 * The product in each delivery mode on a real node, with API server and kubelet of the version that
 * KUBERNETES names. The node was prepared by the snippets of docs/use/delivery-node.md.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { deliveryModes, type DeliveryMode } from "#contract/names.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { kubeletFails } from "../e2e/failing.fixture.ts";
import { files } from "../e2e/main-task.ts";
import { auths, kubelets, skipRereadWait } from "../e2e/nodes.ts";
import { podOn, pullRefused, untilState } from "../e2e/pods.ts";
import { prepareByPage } from "../e2e/prepared.ts";
import * as product from "../e2e/product.ts";
import { answeredPasswords } from "../faults/provider.ts";

let cluster: Cluster;
let node: Node;
let tags = 0;

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  node = await cluster.addNode({ before: prepareByPage });
  await product.installProduct(cluster, {
    args: [`--delivery-modes=${deliveryModes.join()}`, "--containerd-directory=/etc/containerd"],
  });
});
after(() => cluster?.down());

/** Starts a pod with an image that the node does not have, and waits for one of these states. */
async function pull(...expectedStates: readonly string[]): Promise<void> {
  tags += 1;
  const image = await cluster.pushApp(`team/app:${tags}`);
  await cluster.apply(podOn(node, `app-${tags}`, image));
  await untilState(cluster, `app-${tags}`, ...expectedStates);
}

/** Writes a new password into the registry and the Secret, and waits until the node has it. */
async function rotate(mode: DeliveryMode): Promise<void> {
  const served = (await product.revision(cluster)) ?? 0;
  const additional = randomBytes(18).toString("base64url");
  await cluster.registry.setUsers({ ...cluster.registry.users, additional });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  if (mode === "Reread") await skipRereadWait(node);
  await product.untilServed(cluster, served);
}

kubeletFails(() => cluster);

for (const mode of deliveryModes)
  test(`in mode ${mode}, the node ${mode === "Reread" ? "gets" : "pulls with"} a credential and the next one, and nothing is left of a removed one`, async () => {
    await product.steerProduct(cluster, { delivery: { mode } });
    await pull(...pullRefused);
    const [before, former] = [await kubelets(cluster), files(cluster)];
    for (let change = 0; change < 2; change += 1) {
      await rotate(mode);
      // In mode Reread a kubelet reads the file only after up to five minutes.
      if (mode !== "Reread") await pull("Running");
      else
        assert.equal(
          auths(node)[cluster.registry.host]?.auth,
          cluster.registry.auth("additional").auth,
        );
    }
    assert.equal((await kubelets(cluster))[0] !== before[0], mode === "Restart");
    await product.deleteAdditional(cluster);
    await product.untilRemoved(cluster);
    assert.deepEqual(files(cluster), former);
    assert.equal(node.readFile("global-pull-secret/journal.json"), undefined);
    assert.deepEqual(answeredPasswords(join(node.rootfs, "var/lib/kubelet")), {});
    // A running kubelet uses the entries that it has read for five minutes more.
    await node.exec(["systemctl", "restart", "kubelet.service"]);
    await pull(...pullRefused);
  });

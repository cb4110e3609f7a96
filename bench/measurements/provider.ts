/**
 * Rotations in modes CredentialProvider and Runtime on four nodes: seconds until the last node's
 * next pull uses the new credential.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliverySpec } from "#api/global-pull-secret.ts";
import { providerFiles } from "#contract/names.ts";
import { podOn, untilState } from "#test/e2e/pods.ts";
import type { Measurement } from "../result/bench.ts";
import { calm, putAndWait } from "../testbed/change.ts";
import { measure } from "../result/result.ts";
import { additional, remove } from "../testbed/objects.ts";
import type { Testbed, TestbedNode } from "../testbed/testbed.ts";

/** The mode, and the file from which the next pull takes the credential, on a node. */
type Way = Readonly<{ delivery: DeliverySpec; file: (testbed: Testbed) => string }>;

const ways: readonly Way[] = [
  {
    delivery: { mode: "CredentialProvider", credentialProvider: { scope: "All" } },
    file: () => join("var/lib/kubelet", providerFiles.answer),
  },
  {
    delivery: { mode: "Runtime" },
    file: ({ cluster }) => `etc/containerd/certs.d/${cluster.registry.host}/hosts.toml`,
  },
];

export const provider: Measurement = {
  name: "provider",
  run: async (bench) => {
    const testbed = await bench.real(4);
    const results = [];
    for (const way of ways) results.push(await measured(testbed, way, bench.quick));
    return results;
  },
};

async function measured(testbed: Testbed, way: Way, isQuick: boolean) {
  // Withdraws first, because the kubelets would otherwise have to reread config.json, which takes
  // five minutes.
  await remove(testbed.api, additional);
  await testbed.global.first("it is withdrawn", ({ gone }) => gone, Date.now());
  await testbed.install("10%", way.delivery);
  const seconds: number[] = [];
  await rotate(testbed, way);
  for (let round = 0; round < (isQuick ? 3 : 12); round += 1) {
    await calm();
    seconds.push(await rotate(testbed, way));
  }
  await isPulled(testbed);
  await testbed.install();
  const name = `four nodes, ${way.delivery.mode}, Secret written to the last node's next pull`;
  return measure({ name, unit: "s", atMost: 2 }, seconds);
}

/**
 * Seconds until the next pull on the last node would use the other user's password.
 */
async function rotate(testbed: Testbed, { file }: Way): Promise<number> {
  const { registry } = testbed.cluster;
  const user = testbed.nextRevision() % 2 === 0 ? "original" : "additional";
  const { auth } = registry.auth(user);
  const [, password = ""] = Buffer.from(auth, "base64").toString().split(":");
  const path = file(testbed);
  const over = new AbortController();
  const arrivals = Promise.all(
    testbed.nodes.map((testbedNode) => contains(testbedNode, path, [auth, password], over.signal)),
  );
  try {
    const { begun } = await putAndWait(testbed, registry.document(user));
    return (Math.max(...(await arrivals)) - begun) / 1000;
  } finally {
    over.abort();
  }
}

/** When the file on the node has one of the texts, in milliseconds since 1970. */
async function contains(
  { node }: TestbedNode,
  path: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const file = join(node.rootfs, path);
  while (!(existsSync(file) && texts.some((text) => readFileSync(file).includes(text)))) {
    if (signal.aborted) return 0;
    await sleep(5);
  }
  return Date.now();
}

/** Lets every node pull an image that it does not have. */
async function isPulled(testbed: Testbed): Promise<void> {
  const number = Date.now();
  const image = await testbed.cluster.pushApp(`team/app:provider-${number}`);
  const name = (testbedNode: TestbedNode) => `provider-${number}-${testbedNode.node.name}`;
  await testbed.cluster.apply(
    ...testbed.nodes.map((testbedNode) => podOn(testbedNode.node, name(testbedNode), image)),
  );
  for (const testbedNode of testbed.nodes)
    await untilState(testbed.cluster, name(testbedNode), "Running");
  const pods = testbed.nodes.map(name);
  await testbed.cluster.kubectl("delete", "pods", "-n", "default", ...pods);
}

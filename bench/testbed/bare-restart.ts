/**
 * Runs `systemctl restart kubelet`. A change in mode Restart cannot take less time than this
 * command.
 */
import type { Testbed } from "./testbed.ts";

/** Milliseconds until the node's healthz answers again, and how long it was silent. */
export async function bareRestart(
  testbed: Testbed,
  index: number,
): Promise<Readonly<{ took: number; silent: number }>> {
  const testbedNode = testbed.nodes[index];
  if (testbedNode === undefined) throw new Error(`there is no node ${index}`);
  const { node, healthz } = testbedNode;
  const begun = Date.now();
  await node.exec(["systemctl", "restart", "kubelet.service"]);
  const took = (await healthz.backAfter(begun)) - begun;
  return { took, silent: healthz.silence(begun) };
}

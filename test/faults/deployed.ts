/**
 * The agent as the controller deploys it: the flags are taken from the very object that it applies.
 */
import { policyWith } from "#controller/policy/policy.fixture.ts";
import { daemonSet } from "#controller/objects/daemonset.ts";
import { mountPaths } from "#contract/names.ts";
import type { Node } from "./agent.ts";

/** The DaemonSet where nobody declares a policy. */
export function daemonSetOf(): ReturnType<typeof daemonSet> {
  const run = { image: "x", imagePullSecrets: [], probationSeconds: 5 };
  const agent = { ...policyWith().agent, ...run };
  return daemonSet(agent, { revision: 1, digest: "" }, { stage: "wave", maxUnavailable: 1 });
}

/** Node's flags in the DaemonSet, its mount paths replaced by the node's. */
export function nodeFlags(node: Node): string[] {
  const [, ...flags] =
    daemonSetOf().spec?.template.spec?.containers[0]?.command?.slice(0, -1) ?? [];
  return flags.map((flag) =>
    flag
      .replace(mountPaths.kubelet, node.kubelet)
      .replace(mountPaths.secret, node.secret)
      .replace(mountPaths.pod, node.pod)
      .replace(mountPaths.terminationLog, node.terminationLog),
  );
}

/** Registries with long passwords, some 900 KiB of JSON together. */
export function many(prefix: string): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: 900 }, (_, index) => [`${prefix}${index}.example`, "x".repeat(700)]),
  );
}

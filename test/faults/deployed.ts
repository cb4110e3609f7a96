/** The agent as the controller deploys it: the flags are taken from the very object that it applies. */
import { daemonSet } from "../../controller/daemonset.ts";
import { mountPaths } from "../../pullsecret/names.ts";
import type { Node } from "./agent.ts";

/** The flags of the DaemonSet, its mount paths replaced by the node's. */
export function nodeFlags(node: Node): string[] {
  const agent = {
    image: "x",
    kubeletUnit: "kubelet.service",
    restart: "Always",
    minReadySeconds: 5,
    healthzPort: 10248,
    probePort: 20248,
    kubeletRootDir: "/var/lib/kubelet",
  } as unknown as Parameters<typeof daemonSet>[0];
  const strategy = { stage: "wave", maxUnavailable: 1 } as const;
  const [, ...flags] = daemonSet(agent, 1, strategy).spec?.template.spec?.containers[0]?.command?.slice(0, -1) ?? [];
  return flags.map((flag) =>
    flag
      .replace(mountPaths.kubelet, node.kubelet)
      .replace(mountPaths.secret, node.secret)
      .replace(mountPaths.terminationLog, node.terminationLog),
  );
}

/** Registries with long passwords, some 900 KiB of JSON together. */
export function many(prefix: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`${prefix}${index}.example`, "x".repeat(700)]));
}

/** Whether the mounted directory is that of the kubelet that runs this pod. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";

/**
 * Why the mounted directory is not the kubelet's; undefined if it is. The kubelet keeps each of its
 * pods in its root directory, so ours is there. An agent that knows no uid cannot tell.
 */
export function isElsewhere({
  uid,
  kubeletDirectory,
}: Pick<Config, "uid" | "kubeletDirectory">): string | undefined {
  if (uid === "" || existsSync(join(kubeletDirectory, "pods", uid))) return undefined;
  return `there is no pods/${uid}`;
}

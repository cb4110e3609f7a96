/**
 * Checks that the mounted directory is the root directory of the kubelet that started this
 * container, and that a volume covers what the agent must not see there. The kubelet mounts a file
 * of each container, `pods/UID/containers/NAME/…` below its directory, as /dev/termination-log. So
 * the agent's own mounts show the directory, although an empty volume covers `pods`.
 */
import { join } from "node:path";
import { coveredFolders } from "#contract/names.ts";
import type { Config } from "../facts/config.ts";
import { describe } from "../files/errno.ts";
import { type Mount, readMounts } from "../files/mounts.ts";

const ownFile = "/dev/termination-log";

type Place = Pick<Config, "uid" | "kubeletDirectory">;

/**
 * Why the mounted directory is not the kubelet's, or not covered; undefined if it is. The mounts
 * that it reads stay the same while the container runs. Never throws.
 */
export function whyElsewhere({ mountinfo, ...place }: Place & Pick<Config, "mountinfo">) {
  const { kubeletDirectory } = place;
  try {
    const points = [ownFile, kubeletDirectory, ...coveredIn(kubeletDirectory)];
    return whyOther(readMounts(points, mountinfo), place);
  } catch (error) {
    return describe(error);
  }
}

/** Compares the mounts of the agent's pod. Pure. */
export function whyOther(
  mounts: readonly Mount[],
  { uid, kubeletDirectory }: Place,
): string | undefined {
  const at = (path: string) => mounts.filter(({ point }) => point === path);
  const own = at(ownFile).at(-1);
  const directory = at(kubeletDirectory).at(-1);
  if (own === undefined) return `${ownFile} is not mounted`;
  if (directory === undefined) return `${kubeletDirectory} is not mounted`;
  // The runtime covers a link's target, which the mounted directory can show under another path.
  const uncovered = coveredIn(kubeletDirectory).find((path) => at(path).length === 0);
  if (uncovered !== undefined)
    return `no volume covers ${uncovered}; it must be a directory or a bind mount, not a link`;
  const [pods = "", file] = own.source.split(`/${uid}/containers/`);
  if (file === undefined) return `${ownFile} is not a file of pod ${uid}`;
  const expected = join(directory.source, "pods");
  // The node may have a separate mount at `pods`. The covering volume is a mount there as well.
  const places = [{ ...directory, source: expected }, ...at(join(kubeletDirectory, "pods"))];
  if (places.some(({ device, source }) => device === own.device && source === (pods || "/")))
    return undefined;
  return (
    `the kubelet has its pods in ${pods || "/"} of device ${own.device}, ` +
    `not in ${expected} of device ${directory.device}`
  );
}

function coveredIn(kubeletDirectory: string): string[] {
  return coveredFolders.map((folder) => join(kubeletDirectory, folder));
}

/**
 * Checks that the mounted directory is the root directory of the kubelet that started this
 * container. The kubelet mounts a file of each container, `pods/UID/containers/NAME/…` below its
 * directory, as /dev/termination-log. So the agent's own mounts show the directory, although an
 * empty volume covers `pods` in the container.
 */
import { lstatSync, readlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "../facts/config.ts";
import { describe } from "../files/errno.ts";
import { type Mount, readMounts } from "../files/mounts.ts";

const ownFile = "/dev/termination-log";

type Place = Pick<Config, "uid" | "kubeletDirectory">;

/**
 * Why the mounted directory is not the kubelet's; undefined if it is. The mounts that it reads stay
 * the same while the container runs. Never throws.
 */
export function whyElsewhere({ mountinfo, ...place }: Place & Pick<Config, "mountinfo">) {
  const pods = join(place.kubeletDirectory, "pods");
  try {
    const isLink = lstatSync(pods, { throwIfNoEntry: false })?.isSymbolicLink();
    const link = isLink ? readlinkSync(pods) : undefined;
    return whyOther(readMounts([pods, ownFile], mountinfo), { ...place, link });
  } catch (error) {
    return describe(error);
  }
}

/**
 * Compares the mounts of the agent's pod. `link`: the target of `pods`, if `pods` is a symbolic
 * link. The agent cannot follow it, because the target is outside of the mounted directory. Pure.
 */
export function whyOther(
  mounts: readonly Mount[],
  { uid, kubeletDirectory, link }: Place & Readonly<{ link: string | undefined }>,
): string | undefined {
  const at = (path: string) => mounts.filter(({ point }) => point === path);
  const own = at(ownFile).at(-1);
  const directory = at(kubeletDirectory).at(-1);
  if (own === undefined) return `${ownFile} is not mounted`;
  if (directory === undefined) return `${kubeletDirectory} is not mounted`;
  const [pods = "", file] = own.source.split(`/${uid}/containers/`);
  if (file === undefined) return `${ownFile} is not a file of pod ${uid}`;
  const expected = resolve(directory.source, link ?? "pods");
  // One of the two paths begins at the node's root, the other one perhaps at a file system below.
  const isLinked = link !== undefined && (expected.endsWith(pods) || pods.endsWith(expected));
  // The node may have a separate mount at `pods`. The covering volume is a mount there as well.
  const places = [{ ...directory, source: expected }, ...at(join(kubeletDirectory, "pods"))];
  const isHere = places.some(
    ({ device, source }) => device === own.device && source === (pods || "/"),
  );
  if (isLinked || isHere) return undefined;
  return (
    `the kubelet has its pods in ${pods || "/"} of device ${own.device}, ` +
    `not in ${expected} of device ${directory.device}`
  );
}

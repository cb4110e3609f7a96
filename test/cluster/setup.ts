/**
 * Makes everything that a real cluster consists of, once per machine: `node tools/build/run.mjs
 * test/cluster/setup.ts`. Tests and demo call setUp themselves.
 */
import { installPackages } from "./kit/debian.ts";
import { makeImages, type Images } from "./kit/images.ts";
import type { Speed } from "./kit/go.ts";
import { partsOf } from "./kit/kubernetes.ts";
import { buildParts, type Parts } from "./kit/parts.ts";
import { raiseLimits } from "./kit/limits.ts";
import { makeRootFileSystem } from "./kit/rootfs.ts";
import { progress } from "./run.ts";

let speed: Speed = "quick";
/** The minor version of Kubernetes, such as 1.33. By default the version that test/go.mod pins. */
let kubernetes = process.env["KUBERNETES"] ?? "";

/** From now on clusters of this process run optimised programs, as measurements need. */
export function useOptimised(): void {
  speed = "optimised";
}

/** From now on clusters of this process run this minor version of Kubernetes, such as 1.33. */
export function useKubernetes(minor: string): void {
  kubernetes = minor;
}

export type Kit = Readonly<{ parts: Parts; debian: string; images: Images }>;

/**
 * Takes about five minutes on a fresh machine with two idle cores, and milliseconds once everything
 * exists.
 */
export async function setUp(): Promise<Kit> {
  raiseLimits();
  await installPackages();
  // Both run at the same time, because building needs the processor, and debootstrap mostly the
  // network.
  const [parts, [debian, images]] = await Promise.all([
    kubernetes === "" ? buildParts(speed) : partsOf(kubernetes),
    makeRootFileSystem().then(async (debian) => [debian, await makeImages(debian)] as const),
  ]);
  return { parts, debian, images };
}

if (import.meta.main) {
  await setUp();
  progress("all parts of a real cluster are ready");
}

/** An administrator's overlay of manifests/: their image, and their flags. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { valueOf } from "#tools/install/values-schema.ts";
import { installed } from "#tools/install/bounds.ts";
import { manifests } from "#tools/install/yaml.ts";
import type { Cluster } from "../cluster/cluster.ts";

/** The name that manifests/ gives the image. */
const imageName = "global-pull-secret";

/** `images:` and `transformers:`, for an overlay in this folder of a release's manifests. */
export function imageOf(image: string, folder: string, from = manifests) {
  const at = image.lastIndexOf(":");
  const images = [{ name: imageName, newName: image.slice(0, at), newTag: image.slice(at + 1) }];
  const bounds = join(from, "bounds");
  // 0.2 has none.
  return { images, transformers: existsSync(bounds) ? [relative(folder, bounds)] : [] };
}

/** Patches that give the policy for the agents the directories and the unit of these flags. */
export function boundsOf(flags: readonly string[]): object[] {
  const places = Object.keys(installed);
  const patches = flags.flatMap((flag) => {
    const [, name = "", value = ""] = /^--([a-z-]+)=(.*)$/s.exec(flag) ?? [];
    const at = places.indexOf(valueOf(name));
    const path = `/spec/variables/${at}`;
    if (at < 0) return [];
    return [
      { op: "test", path: `${path}/name`, value: places[at] },
      { op: "replace", path: `${path}/expression`, value: `r'${value}'` },
    ];
  });
  const target = { kind: "ValidatingAdmissionPolicy", name: "global-pull-secret-daemonset" };
  return patches.length > 0 ? [{ target, patch: JSON.stringify(patches) }] : [];
}

/** Applies a folder of manifests/ with this image. */
export async function applyManifests(cluster: Cluster, image: string, folder = "."): Promise<void> {
  const overlay = join(cluster.directory, "manifests");
  mkdirSync(overlay, { recursive: true });
  const resources = [relative(overlay, join(manifests, folder))];
  const kustomization = { resources, ...imageOf(image, overlay) };
  writeFileSync(join(overlay, "kustomization.yaml"), JSON.stringify(kustomization)); // JSON is YAML
  await cluster.kubectl("apply", "-k", overlay);
}

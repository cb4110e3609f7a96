/** An administrator's overlay of manifests/: their image, and their flags. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { annotationOf, installed } from "#tools/install/bounds.ts";
import { manifests } from "#tools/install/yaml.ts";
import type { Cluster } from "../cluster/cluster.ts";

const imageName = "global-pull-secret";

export function imagesOf(image: string): readonly object[] {
  const at = image.lastIndexOf(":");
  return [{ name: imageName, newName: image.slice(0, at), newTag: image.slice(at + 1) }];
}

/** Patches with which the admission policy for agents accepts these flags of the controller. */
export function boundsOf(flags: readonly string[]): object[] {
  const annotations: Record<string, string> = {};
  for (const flag of flags) {
    const [, name = "", value = ""] = /^--([a-z-]+)=(.*)$/s.exec(flag) ?? [];
    if (!isBound(name)) continue;
    const before = annotations[annotationOf(name)];
    annotations[annotationOf(name)] = before === undefined ? value : `${before}\n${value}`;
  }
  const metadata = { name: "global-pull-secret-controller", namespace: "kube-system", annotations };
  const patch = { apiVersion: "v1", kind: "ServiceAccount", metadata };
  return Object.keys(annotations).length > 0 ? [{ patch: JSON.stringify(patch) }] : [];
}

const isBound = (flag: string): flag is keyof typeof installed => Object.hasOwn(installed, flag);

/** Applies a folder of manifests/ with this image. */
export async function applyManifests(cluster: Cluster, image: string, folder = "."): Promise<void> {
  const overlay = join(cluster.directory, "manifests");
  mkdirSync(overlay, { recursive: true });
  const resources = [relative(overlay, join(manifests, folder))];
  const kustomization = { resources, images: imagesOf(image) };
  writeFileSync(join(overlay, "kustomization.yaml"), JSON.stringify(kustomization)); // JSON is YAML
  await cluster.kubectl("apply", "-k", overlay);
}

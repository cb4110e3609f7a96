/** Renders the objects of manifests/ with `kubectl kustomize`, and the objects of the chart. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { buildParts } from "../cluster/kit/parts.ts";
import { run } from "../cluster/run.ts";
import { manifests, objectsOf, type KubeObject } from "#tools/install/yaml.ts";
import type { Role } from "#tools/install/values-schema.ts";
import { chart, helm } from "./helm.ts";

type Overlay = Readonly<{
  resources: readonly string[];
  namespace?: string;
  components?: readonly string[];
  patches?: readonly object[];
  images?: readonly object[];
}>;

/** The objects of an administrator's overlay on folders of manifests/. */
export async function kustomized(overlay: Overlay): Promise<KubeObject[]> {
  const { path } = await buildParts();
  const folder = mkdtempSync(join(tmpdir(), "overlay-"));
  try {
    const from = (names: readonly string[] = []) =>
      names.map((name) => relative(folder, join(manifests, name)));
    const { resources, components } = overlay;
    const folders = {
      resources: from(resources),
      components: from(components),
    };
    const text = { ...overlay, ...folders };
    writeFileSync(join(folder, "kustomization.yaml"), JSON.stringify(text)); // JSON is YAML
    return objectsOf(await run([path("kubectl"), "kustomize", folder]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * All objects that `helm template` renders, including hooks, with the image's name from manifests/.
 */
export async function charted(...args: readonly string[]): Promise<KubeObject[]> {
  const required = ["-n", "kube-system", "--set=image.repository=global-pull-secret"];
  return objectsOf(await helm(tmpdir(), "template", "gps", chart, ...required, ...args));
}

/** The arguments of `helm template` for a role, in a namespace that the role needs. */
export const inRole = (role: Role): readonly string[] => [
  `--set=role=${role}`,
  `--namespace=${role === "Hosted" ? "clusters-guest" : "kube-system"}`,
  ...(role === "SyncTenant" ? ["--set=syncTenant.managementNamespace=tenant-a"] : []),
];

/** The objects that these values add to the chart's default objects. */
export async function addedBy(...values: readonly string[]): Promise<KubeObject[]> {
  const usual = new Set((await charted()).map(nameOf));
  const all = await charted(...values.map((value) => `--set=${value}`));
  return all.filter((object) => !usual.has(nameOf(object)));
}

export const nameOf = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.name}`;

/** Kind and name → object. Outside kube-system the key begins with the namespace. */
export const byName = (objects: readonly KubeObject[]): Record<string, KubeObject> =>
  Object.fromEntries(
    objects.map((object) => {
      const { namespace = "kube-system" } = object.metadata;
      return [
        namespace === "kube-system" ? nameOf(object) : `${namespace}/${nameOf(object)}`,
        object,
      ];
    }),
  );

/** Reads the objects of manifests/ from their files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load, loadAll } from "js-yaml";

export const manifests = join(import.meta.dirname, "../../manifests");

export type KubeObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; namespace?: string; annotations?: Record<string, string> }>;
}> &
  Readonly<Record<string, unknown>>;

type Kustomization = Readonly<{
  resources?: readonly string[];
  components?: readonly string[];
  images?: readonly { name: string; newTag: string }[];
}>;

export const textOf = (file: string): string => readFileSync(join(manifests, file), "utf8");

export const objectsOf = (text: string): KubeObject[] =>
  (loadAll(text) as (KubeObject | null)[]).filter((one) => one !== null);

export const kustomizationOf = (folder: string): Kustomization =>
  load(textOf(join(folder, "kustomization.yaml"))) as Kustomization;

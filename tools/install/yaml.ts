/** Reads the objects of manifests/ from their files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";

export const manifests = join(import.meta.dirname, "../../manifests");

export type KubeObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; namespace?: string; annotations?: Record<string, string> }>;
}> &
  Readonly<Record<string, unknown>>;

export const textOf = (file: string): string => readFileSync(join(manifests, file), "utf8");

export const objectsOf = (text: string): KubeObject[] =>
  (loadAll(text) as (KubeObject | null)[]).filter((object) => object !== null);

/** Reads a CRD of the chart: the schema behind our types, reference pages and checks. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";

export const crdFile = "manifests/chart/crds/globalpullsecrets.yaml";
export const nodeCrdFile = "manifests/chart/crds/nodepullsecrets.yaml";
export const fleetCrdFile = "manifests/chart/files/fleetsecrets/fleetsecrets.yaml";
export const syncCrdFile = "manifests/chart/files/syncsecrets/syncsecrets.yaml";

/** The part of a structural schema that we use. */
export type Schema = Readonly<{
  type?: string;
  description?: string;
  default?: unknown;
  enum?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: Schema;
  required?: readonly string[];
  items?: Schema;
  maxLength?: number;
  maxItems?: number;
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-map-type"?: string;
  "x-kubernetes-int-or-string"?: boolean;
}>;

type Version = Readonly<{ name: string; schema: Readonly<{ openAPIV3Schema: Schema }> }>;

export type Crd = Readonly<{
  spec: Readonly<{
    group: string;
    names: Readonly<{ kind: string }>;
    versions: readonly Version[];
  }>;
}>;

export const readCrd = (text: string): Crd => load(text) as Crd;

/** A CRD of this checkout; GlobalPullSecret's by default. */
export function ourCrd(file = crdFile): Crd {
  return readCrd(readFileSync(join(import.meta.dirname, "../..", file), "utf8"));
}

/** The schema of the only version, and the apiVersion of its objects. */
export function onlyVersion({ spec }: Crd): Readonly<{ schema: Schema; apiVersion: string }> {
  const [version, ...others] = spec.versions;
  if (version === undefined || others.length > 0)
    throw new Error(`${spec.names.kind}: ${spec.versions.length} versions; tools/ supports one`);
  return { schema: version.schema.openAPIV3Schema, apiVersion: `${spec.group}/${version.name}` };
}

export type Field = Readonly<{ path: string; schema: Schema }>;

/** The description of a field, with its default; `quote` is put around the default. */
export function meaningOf({ description = "", default: standard }: Schema, quote = ""): string {
  const plain = typeof standard === "string" || typeof standard === "number";
  return plain ? `${description} Default: ${quote}${standard}${quote}.` : description;
}

/** The schema and all schemas below it, depth first. The path of an array's items is `path[]`. */
export function fieldsOf(schema: Schema, path = ""): readonly Field[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    fieldsOf(property, path === "" ? name : `${path}.${name}`),
  );
  const items = schema.items === undefined ? [] : fieldsOf(schema.items, `${path}[]`);
  return [{ path, schema }, ...below, ...items];
}

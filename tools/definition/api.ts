/**
 * Generates the types of lib/api/ from the CRDs. The CRDs are written by hand, because users read
 * them. Part of `npm run docs`; tools/docs.test.ts compares the files with the CRDs.
 */
import {
  crdFile,
  fleetCrdFile,
  fieldsOf,
  meaningOf,
  nodeCrdFile,
  onlyVersion,
  ourCrd,
  syncCrdFile,
  type Field,
  type Schema,
} from "./crd.ts";

/** Path of an object in the schema → name of its type, in the order of the file. */
const names: Readonly<Record<string, string>> = {
  "": "GlobalPullSecret",
  spec: "GlobalPullSecretSpec",
  "spec.sources[]": "SourceSpec",
  "spec.sources[].secretRef": "SecretReference",
  "spec.delivery": "DeliverySpec",
  "spec.delivery.credentialProvider": "CredentialProviderSpec",
  "spec.rollout": "RolloutSpec",
  "spec.withdrawal": "WithdrawalSpec",
  "spec.verification": "VerificationSpec",
  status: "GlobalPullSecretStatus",
  "status.revision": "RevisionStatus",
  "status.revision.refused": "RefusedRevision",
  "status.sources[]": "SourceStatus",
  "status.registries[]": "RegistryStatus",
  "status.nodes": "NodesStatus",
  "status.nodes.waiting[]": "WaitingNodes",
  "status.failures[]": "NodeFailure",
  "status.conditions[]": "StatusCondition",
};

/**
 * Kind → the type of its conditions' names, and the file in lib/api/ with that type. A kind without
 * conditions is not in this table.
 */
const conditionTypes: Readonly<Record<string, readonly [type: string, file: string]>> = {
  GlobalPullSecret: ["ConditionType", "reasons"],
  FleetSecret: ["FleetConditionType", "fleet-reasons"],
  SyncSecret: ["SyncConditionType", "sync-reasons"],
};

const nodeNames: typeof names = {
  "": "NodePullSecret",
  spec: "NodePullSecretSpec",
  status: "NodePullSecretStatus",
};

const fleetNames: typeof names = {
  "": "FleetSecret",
  spec: "FleetSecretSpec",
  "spec.secretRef": "FleetSecretReference",
  "spec.clusterAPI": "ClusterAPISource",
  "spec.clusterAPI.namespaceSelector": "NamespaceSelector",
  "spec.clusterAPI.namespaceSelector.matchExpressions[]": "LabelExpression",
  "spec.clusterAPI.clusterSelector": "ClusterSelector",
  "spec.clusterAPI.clusterSelector.matchExpressions[]": "LabelExpression",
  "spec.clusterProfiles": "ClusterProfilesSource",
  "spec.clusterProfiles.selector": "ClusterProfileSelector",
  "spec.clusterProfiles.selector.matchExpressions[]": "LabelExpression",
  "spec.target": "FleetSecretTarget",
  "spec.rollout": "FleetRollout",
  "spec.rollout.canaries": "FleetCanaries",
  "spec.rollout.canaries.matchExpressions[]": "LabelExpression",
  "spec.removal": "FleetRemoval",
  status: "FleetSecretStatus",
  "status.counts": "FleetCounts",
  "status.clusters[]": "ClusterStatus",
  "status.failures[]": "FleetFailure",
  "status.givenUp[]": "FleetFailure",
  "status.conditions[]": "FleetCondition",
};

const syncNames: typeof names = {
  "": "SyncSecret",
  secretRef: "SyncSecretReference",
  status: "SyncSecretStatus",
  "status.conditions[]": "SyncSecretCondition",
};

/** The text of lib/api/global-pull-secret.ts. */
export const apiTypes = (): string => typesOf(crdFile, names);
/** The text of lib/api/node-pull-secret.ts. */
export const nodeTypes = (): string => typesOf(nodeCrdFile, nodeNames);
/** The text of lib/api/fleet-secret.ts. */
export const fleetTypes = (): string => typesOf(fleetCrdFile, fleetNames);
/** The text of lib/api/sync-secret.ts. */
export const syncTypes = (): string => typesOf(syncCrdFile, syncNames);

function typesOf(file: string, names: Readonly<Record<string, string>>): string {
  const crd = ourCrd(file);
  const { schema, apiVersion } = onlyVersion(crd);
  const objects = fieldsOf(schema).filter((field) => isObject(field) && field.path !== "metadata");
  for (const { path } of objects)
    if (names[path] === undefined)
      throw new Error(`${path}: name its type in tools/definition/api.ts`);
  // Objects with the same name have the same type, which is written once.
  const unlike = Object.entries(names).filter(
    ([, name], at, all) => all.findIndex(([, other]) => other === name) === at,
  );
  const types = unlike.map(([path, name]) => {
    const object = objects.find((candidate) => candidate.path === path);
    if (object === undefined)
      throw new Error(`${path}: is not an object of the CRD: tools/definition/api.ts`);
    return typeOf(name, object, names);
  });
  const { kind } = crd.spec.names;
  const [conditionType, reasons] = conditionTypes[kind] ?? [];
  if (conditionType === undefined && names["status.conditions[]"] !== undefined)
    throw new Error(`${kind}: name its conditions in tools/definition/api.ts`);
  const head = `/**
 * ${kind} as TypeScript. Written from
 * ${file}: change that, then run
 * \`npm run docs\`.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
${conditionType === undefined ? "" : `import type { ${conditionType} } from "./${reasons}.ts";\n`}`;
  const literals: Record<string, string> = {
    "apiVersion?: string": `apiVersion: "${apiVersion}"`,
    "kind?: string": `kind: "${kind}"`,
    "metadata?: object": "metadata: V1ObjectMeta",
    // Only in conditions a field of this name is a string without an enum.
    "  type: string": `  type: ${conditionType}`,
  };
  const text = [head, ...types].join("\n");
  return Object.entries(literals).reduce((all, [from, to]) => all.replace(from, to), text);
}

/** True for an object with named fields; false for a map. */
const isObject = ({ schema }: Field): boolean =>
  schema.type === "object" && schema.additionalProperties === undefined;

function typeOf(
  name: string,
  { path, schema }: Field,
  names: Readonly<Record<string, string>>,
): string {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(([field, property]) => {
    const below = path === "" ? field : `${path}.${field}`;
    const optional = required.has(field) ? "" : "?";
    const line = `  ${field}${optional}: ${written(below, property, names)};`;
    // If a union is too long for a line, the formatter breaks it in this way.
    const broken = line.replace(": ", ":\n    | ").replaceAll('" | "', '"\n    | "');
    const fits = line.length <= 100 || property.enum === undefined;
    return `${comment(meaningOf(property), "  ")}${fits ? line : broken}\n`;
  });
  return `${comment(meaningOf(schema), "")}export type ${name} = Readonly<{\n${fields.join("")}}>;\n`;
}

/** The TypeScript type of a field. */
function written(path: string, schema: Schema, names: Readonly<Record<string, string>>): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "number | string";
  if (schema.enum !== undefined)
    return schema.enum.map((choice) => JSON.stringify(choice)).join(" | ");
  if (schema.type === "array")
    return `readonly ${written(`${path}[]`, schema.items ?? {}, names)}[]`;
  if (schema.type === "integer") return "number";
  if (schema.type === "boolean") return "boolean";
  const { additionalProperties: values } = schema;
  if (values !== undefined) return `Readonly<Record<string, ${written(path, values, names)}>>`;
  if (schema.type === "object") return names[path] ?? "object";
  if (schema.type === "string") return "string";
  throw new Error(`${path}: no type for ${String(schema.type)}: tools/definition/api.ts`);
}

/** A JSDoc comment of at most 100 columns, on one line where it fits. */
function comment(text: string, indent: string): string {
  if (text === "") return "";
  const single = `${indent}/** ${text} */`;
  if (single.length <= 100) return `${single}\n`;
  const lines = wrap(text, 100 - indent.length - 3).map((line) => `${indent} * ${line}\n`);
  return `${indent}/**\n${lines.join("")}${indent} */\n`;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const longer = [...lines.slice(-1), word].join(" ");
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

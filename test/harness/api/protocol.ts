/**
 * The code that the parts of the fake API server share: its resources, their paths, how selectors
 * match objects, and how it refuses requests.
 */
import { loadDocuments } from "#kube/yaml.ts";

/** An object as it is stored and sent: JSON. Its kind defines the fields. */
export type Stored = {
  apiVersion: string;
  kind: string;
  metadata: StoredMetadata;
  spec?: unknown;
  status?: unknown;
  data?: Record<string, string>;
  [field: string]: unknown;
};

export type StoredMetadata = {
  name: string;
  generateName?: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  generation?: number;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  managedFields?: ManagedFields[];
  [field: string]: unknown;
};

/** The fields that one field manager owns, in the API's form. */
export type ManagedFields = {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  time: string;
  fieldsType: "FieldsV1";
  fieldsV1: object;
  subresource?: string;
};

/** A kind of object, and how the server serves its collection. */
export type Resource = Readonly<{
  /** `apps/v1`, or `v1` of the core group. */
  apiVersion: string;
  plural: string;
  kind: string;
  /** If set, metadata.generation counts the writes to `spec`. */
  counted?: true;
  /** If set, clients can write `status` only through the path `/status`. */
  hasStatus?: boolean;
  /** The status of a new object; none by default. `given`: the status in the request. */
  bornStatus?: object | "given";
  /** Only for kinds that a CustomResourceDefinition defines. The schema contains the defaults. */
  schema?: Schema;
}>;

/** The part of an OpenAPI schema that is used: defaults, and how lists and objects are merged. */
export type Schema = Readonly<{
  default?: unknown;
  properties?: Readonly<Record<string, Schema>>;
  items?: Schema;
  "x-kubernetes-list-type"?: "atomic" | "map" | "set";
  "x-kubernetes-list-map-keys"?: readonly string[];
  "x-kubernetes-map-type"?: "atomic" | "granular";
}>;

const plain = (apiVersion: string, kind: string, plural = `${kind.toLowerCase()}s`): Resource => ({
  apiVersion,
  kind,
  plural,
});

const admission = "admissionregistration.k8s.io/v1";

/** The built-in resources that our programs and the model of nodes use. */
export const builtIn: readonly Resource[] = [
  plain("v1", "Secret"),
  plain("v1", "ConfigMap"),
  plain("v1", "ServiceAccount"),
  plain("v1", "Event"),
  plain("v1", "Namespace"),
  { ...plain("v1", "Pod"), hasStatus: true, bornStatus: { phase: "Pending" } },
  { ...plain("v1", "Node"), hasStatus: true, bornStatus: "given" },
  plain("rbac.authorization.k8s.io/v1", "Role"),
  plain("rbac.authorization.k8s.io/v1", "RoleBinding"),
  { ...plain("apps/v1", "DaemonSet"), counted: true, hasStatus: true },
  plain("coordination.k8s.io/v1", "Lease"),
  plain(admission, "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
  plain(admission, "ValidatingAdmissionPolicyBinding"),
];

/** The part of a CustomResourceDefinition's spec that is used. */
type CustomResource = Readonly<{
  group: string;
  names: Readonly<{ plural: string; kind: string }>;
  versions: readonly Readonly<{
    name: string;
    subresources?: Readonly<{ status?: object }>;
    schema?: Readonly<{ openAPIV3Schema: Schema }>;
  }>[];
}>;

/** The resources that CustomResourceDefinitions in YAML define, each in its first version. */
export function resourcesIn(yaml: string): Resource[] {
  return loadDocuments(yaml).map((document) => {
    const { spec } = document as { spec: CustomResource };
    const [version] = spec.versions;
    if (version === undefined) throw new Error("a definition without a version");
    return {
      apiVersion: `${spec.group}/${version.name}`,
      plural: spec.names.plural,
      kind: spec.names.kind,
      counted: true,
      hasStatus: version.subresources?.status !== undefined,
      schema: version.schema?.openAPIV3Schema ?? {},
    };
  });
}

/** An object, or a collection if `name` is empty. */
export type Address = Readonly<{
  resource: Resource;
  namespace: string;
  name: string;
  subresource: string;
}>;

const shape =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>[^/]+))?$/;

/** Reads a path below the server's address. 404 if no such resource is served. */
export function addressOf(path: string, served: readonly Resource[]): Address {
  const groups = shape.exec(path)?.groups ?? {};
  const { group, version = "", namespace = "", plural, name = "", subresource = "" } = groups;
  const apiVersion = group === undefined ? version : `${group}/${version}`;
  const resource = served.find(
    (candidate) => candidate.plural === plural && candidate.apiVersion === apiVersion,
  );
  if (resource === undefined)
    throw refuse(404, "NotFound", "the server could not find the requested resource");
  return { resource, namespace, name: decodeURIComponent(name), subresource };
}

/** True for an object that matches the query's labelSelector and fieldSelector. */
export type Picks = (object: Stored) => boolean;

export function picksOf(query: URLSearchParams): Picks {
  const labels = termsOf(query.get("labelSelector")).map((term) => labelTerm(term));
  const fields = termsOf(query.get("fieldSelector")).map((term) => fieldTerm(term));
  return (object) => [...labels, ...fields].every((holds) => holds(object));
}

/** The terms of a selector: commas separate them, except inside brackets. */
const termsOf = (selector: string | null): string[] =>
  (selector ?? "").split(/,(?![^(]*\))/).filter((term) => term !== "");

function labelTerm(term: string): Picks {
  const set = /^\s*(?<key>\S+)\s+(?<not>not)?in\s*\((?<values>[^)]*)\)\s*$/.exec(term)?.groups;
  if (set !== undefined) {
    const values = new Set((set["values"] ?? "").split(",").map((labelValue) => labelValue.trim()));
    return (object) =>
      values.has(labelOf(object, set["key"]) ?? "\0") === (set["not"] === undefined);
  }
  const [, key = "", not, value] = /^([^!=]+?)(!)?==?(.*)$/.exec(term) ?? [];
  if (value !== undefined)
    return (object) => (labelOf(object, key) === value) === (not === undefined);
  return term.startsWith("!")
    ? (object) => labelOf(object, term.slice(1)) === undefined
    : (object) => labelOf(object, term) !== undefined;
}

const labelOf = ({ metadata }: Stored, key = ""): string | undefined =>
  metadata.labels?.[key.trim()];

function fieldTerm(term: string): Picks {
  const [, path = "", not, value = ""] = /^([^!=]+?)(!)?==?(.*)$/.exec(term) ?? [];
  return (object) => {
    let field: unknown = object;
    for (const step of path.split("."))
      field = (field as Record<string, unknown> | undefined)?.[step];
    return ((typeof field === "string" ? field : "") === value) === (not === undefined);
  };
}

/** Fills in the defaults of a schema, as the API server does for custom resources. */
export function withDefaults(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value))
    return value.map((item) => (schema.items ? withDefaults(item, schema.items) : item));
  if (typeof value !== "object" || value === null) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const fieldValue = filled[name] ?? structuredClone(field.default);
    if (fieldValue !== undefined) filled[name] = withDefaults(fieldValue, field);
  }
  return filled;
}

/** RFC 7386: null removes a field, objects are merged, everything else is replaced. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === "object" && target !== null && !Array.isArray(target);
  const merged: Record<string, unknown> = isObject ? { ...target } : {};
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  return merged;
}

/** A refused request. The answer to it is a Status of the API. */
export class Refusal extends Error {
  readonly status: number;
  readonly reason: string;
  /** The value of the Retry-After header of a 429 or 503. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get body(): object {
    const { status: code, reason, message } = this;
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason,
      code,
    };
  }
}

/**
 * Makes a refusal that you can throw, from the HTTP status, the API's reason, and a message in the
 * API server's words.
 */
export const refuse = (
  status: number,
  reason: string,
  message: string,
  retryAfterSeconds?: number,
): Refusal => new Refusal(status, reason, message, retryAfterSeconds);

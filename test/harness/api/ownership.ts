/**
 * Fake API server: field managers and their fields (metadata.managedFields), and server-side apply.
 * Fields are in the API's own form (fieldsV1): `f:name` for a field, `k:{"name":"a"}` for an item
 * of a list that is merged by keys, `v:"a"` for an item of a set.
 */
import { isDeepStrictEqual } from "node:util";
import { refuse, type ManagedFields, type Schema, type Stored } from "./protocol.ts";

/** Owned fields as a tree. An empty object is a leaf. */
type Fields = { [key: string]: Fields };
type Json = Record<string, unknown>;

/**
 * Lists that are merged item by item, and the keys of their items. Every other list is one value.
 */
const listKeys: Readonly<Record<string, readonly string[]>> = {
  conditions: ["type"],
  containers: ["name"],
  containerStatuses: ["name"],
  env: ["name"],
  imagePullSecrets: ["name"],
  initContainers: ["name"],
  ownerReferences: ["uid"],
  ports: ["containerPort", "protocol"],
  secrets: ["name"],
  volumeMounts: ["mountPath"],
  volumes: ["name"],
};
const sets: ReadonlySet<string> = new Set(["finalizers"]);
/** Objects that count as one value: selectors, references to a key, a field or a role. */
const atomic: ReadonlySet<string> = new Set([
  "configMapKeyRef",
  "fieldRef",
  "nodeSelector",
  "requiredDuringSchedulingIgnoredDuringExecution",
  "resourceFieldRef",
  "roleRef",
  "secretKeyRef",
  "selector",
]);

/**
 * Fields of metadata that have no owner, because the API server writes them or because they name
 * the object.
 */
const unowned: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "generation",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
]);

const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * A value. Its custom resource's schema or its field's name determines whether a list or an object
 * is merged.
 */
type Part = Readonly<{ value: unknown; name: string; schema?: Schema | undefined }>;

/**
 * The keys by which items of a list are identified. Empty for a set, undefined for a list that is
 * one value.
 */
function keysOf({ name, schema }: Part): readonly string[] | undefined {
  if (schema === undefined) return sets.has(name) ? [] : listKeys[name];
  const kind = schema["x-kubernetes-list-type"];
  return kind === "set" ? [] : kind === "map" ? schema["x-kubernetes-list-map-keys"] : undefined;
}

/** The parts of a value by their keys in fieldsV1; undefined for a value that is not divided. */
function partsOf(part: Part): Map<string, Part> | undefined {
  const { value, name, schema } = part;
  if (isJson(value)) {
    const isOne =
      schema === undefined ? atomic.has(name) : schema["x-kubernetes-map-type"] === "atomic";
    if (isOne) return undefined;
    const fields = Object.entries(value).filter(
      ([, field]) => field !== undefined && field !== null,
    );
    return new Map(
      fields.map(([key, field]) => {
        const below = key === "metadata" ? undefined : schema?.properties?.[key];
        return [`f:${key}`, { value: field, name: key, schema: below }];
      }),
    );
  }
  const keys = keysOf(part);
  if (!Array.isArray(value) || keys === undefined) return undefined;
  return new Map(
    value.map((item: unknown) => {
      const key = keys.length === 0 ? `v:${JSON.stringify(item)}` : itemKey(item as Json, keys);
      return [key, { value: item, name: "", schema: schema?.items }];
    }),
  );
}

const itemKey = (item: Json, keys: readonly string[]): string => {
  const pairs = keys.filter((key) => key in item).map((key) => [key, item[key]]);
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
};

/** The object without the fields that have no owner. */
function ownable(object: Json, schema: Schema | undefined): Part {
  const { apiVersion: _, kind: __, metadata, ...rest } = object;
  const mine = Object.entries((metadata ?? {}) as Json).filter(
    ([key, value]) => value !== undefined && !unowned.has(key),
  );
  const value = mine.length > 0 ? { ...rest, metadata: Object.fromEntries(mine) } : rest;
  return { value, name: "", schema };
}

/** An empty list whose items are merged has no owner: only its items have owners. */
const isEmptyList = (part: Part): boolean =>
  Array.isArray(part.value) && part.value.length === 0 && keysOf(part) !== undefined;

function fieldsOf(part: Part): Fields {
  const fields: Fields = {};
  for (const [key, child] of partsOf(part) ?? [])
    if (!isEmptyList(child)) fields[key] = fieldsOf(child);
  return fields;
}

/** Fields of `after` that differ from `before`; undefined if there are none. */
function changedFields(before: Part, after: Part): Fields | undefined {
  const [old, now] = [partsOf(before), partsOf(after)];
  if (old === undefined || now === undefined)
    return isDeepStrictEqual(before.value, after.value) ? undefined : fieldsOf(after);
  const fields: Fields = {};
  for (const [key, child] of now) {
    if (isEmptyList(child)) continue;
    const oldChild = old.get(key);
    const changed = oldChild ? changedFields(oldChild, child) : fieldsOf(child);
    if (changed !== undefined) fields[key] = changed;
  }
  return isLeaf(fields) ? undefined : fields;
}

const isLeaf = (fields: Fields): boolean => Object.keys(fields).length === 0;

/** `fields` without the fields in `gone`. */
function without(fields: Fields, gone: Fields): Fields | undefined {
  if (isLeaf(gone) || isLeaf(fields)) return undefined;
  const remaining: Fields = {};
  for (const [key, below] of Object.entries(fields)) {
    const rest = gone[key] === undefined ? below : without(below, gone[key]);
    if (rest !== undefined) remaining[key] = rest;
  }
  return isLeaf(remaining) ? undefined : remaining;
}

/** All fields of the two trees. */
function union(fields: Fields, other: Fields): Fields {
  const all: Fields = { ...fields };
  for (const [key, below] of Object.entries(other)) all[key] = union(all[key] ?? {}, below);
  return all;
}

/** The fields in `fields` that still exist in the value. */
function present(fields: Fields, part: Part): Fields {
  const parts = partsOf(part);
  const existing: Fields = {};
  for (const [key, below] of Object.entries(fields)) {
    const child = parts?.get(key);
    if (child !== undefined) existing[key] = present(below, child);
  }
  return existing;
}

const absent: Part = { value: undefined, name: "" };

/** Fields that both managers own with different values: their paths as in a conflict's message. */
function contested(theirs: Fields, ours: Fields, live: Part, desired: Part): string[] {
  const [old, now] = [partsOf(live), partsOf(desired)];
  return Object.entries(theirs).flatMap(([key, below]) => {
    const mine = ours[key];
    const [has, wants] = [old?.get(key) ?? absent, now?.get(key) ?? absent];
    if (mine === undefined) return [];
    if (isLeaf(below) || isLeaf(mine))
      return isDeepStrictEqual(has.value, wants.value) ? [] : [`.${key.slice(2)}`];
    return contested(below, mine, has, wants).map((path) => `.${key.slice(2)}${path}`);
  });
}

/** Applies `desired` to `live`: merges objects and lists with keys, replaces everything else. */
function merged(live: Part, desired: Part): unknown {
  const [old, now] = [partsOf(live), partsOf(desired)];
  if (old === undefined || now === undefined) return desired.value;
  const both = [...now].map(
    ([key, child]) => [child.name, merged(old.get(key) ?? absent, child)] as const,
  );
  const others = [...old].filter(([key]) => !now.has(key));
  if (Array.isArray(desired.value))
    return [...both.map(([, value]) => value), ...others.map(([, { value }]) => value)];
  return Object.fromEntries([...others.map(([, { name, value }]) => [name, value]), ...both]);
}

/**
 * The value without the fields in `gone` that are not in `stillOwned`. Also removes an object that
 * is empty afterwards.
 */
function removed(part: Part, gone: Fields, stillOwned: Fields): unknown {
  const entries = [...(partsOf(part) ?? [])].flatMap(([key, child]) => {
    const [going, staying] = [gone[key], stillOwned[key]];
    const same = [child.name, child.value] as const;
    if (going === undefined) return [same];
    if (staying === undefined) return [];
    if (isLeaf(staying) || partsOf(child) === undefined) return [same];
    const rest = removed(child, going, staying);
    return isJson(rest) && Object.keys(rest).length === 0 ? [] : [[child.name, rest] as const];
  });
  return Array.isArray(part.value)
    ? entries.map(([, value]) => value)
    : Object.fromEntries(entries);
}

/** The field manager of a write, its path and time, and the schema of a custom resource. */
export type Writer = Readonly<{
  manager: string;
  subresource: string;
  time: string;
  schema?: Schema | undefined;
}>;

const isOf = (entry: ManagedFields, operation: string, { manager, subresource }: Writer): boolean =>
  entry.manager === manager &&
  entry.operation === operation &&
  (entry.subresource ?? "") === subresource;

function entryOf(
  operation: "Apply" | "Update",
  { manager, subresource, time }: Writer,
  apiVersion: string,
  fieldsV1: Fields,
): ManagedFields {
  return {
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: "FieldsV1",
    fieldsV1,
    ...(subresource === "" ? {} : { subresource }),
  };
}

const fieldsIn = (entry: ManagedFields | undefined): Fields => (entry?.fieldsV1 ?? {}) as Fields;

/** Removes these fields from the entries, and then removes each entry that owns nothing. */
function shrunk(entries: readonly ManagedFields[], gone: Fields): ManagedFields[] {
  return entries.flatMap((entry) => {
    const fieldsV1 = without(fieldsIn(entry), gone);
    return fieldsV1 === undefined ? [] : [{ ...entry, fieldsV1 }];
  });
}

/**
 * Server-side apply of `config`, whose metadata has only fields that the manager declares. If
 * another manager owns a field with another value, the answer is 409; with `force` the new manager
 * takes the field over. If this manager applied a field before and no longer declares it, the field
 * is removed, unless another manager owns it.
 */
export function applied(
  live: Stored | undefined,
  config: Json,
  writer: Writer,
  force: boolean,
): Json {
  const entries = live?.metadata.managedFields ?? [];
  const own = entries.find((entry) => isOf(entry, "Apply", writer));
  let others = entries.filter((entry) => entry !== own);
  const desired = ownable(config, writer.schema);
  const has = ownable(live ?? {}, writer.schema);
  const ours = fieldsOf(desired);
  for (const entry of others) {
    const conflicts = contested(fieldsIn(entry), ours, has, desired);
    if (conflicts.length > 0 && !force)
      throw refuse(
        409,
        "Conflict",
        `Apply failed with ${conflicts.length} conflicts: conflicts with "${entry.manager}": ${conflicts.join(", ")}`,
      );
  }
  const taken = changedFields(has, desired);
  if (taken !== undefined) others = shrunk(others, taken);
  const stillOwned = others.reduce((all, entry) => union(all, fieldsIn(entry)), ours);
  const value = own === undefined ? has.value : removed(has, fieldsIn(own), stillOwned);
  const result = merged({ ...has, value }, desired) as Json;
  const managedFields = [...others, entryOf("Apply", writer, String(config["apiVersion"]), ours)];
  return { ...result, metadata: { ...((result["metadata"] ?? {}) as Json), managedFields } };
}

/** Returns the owners after a write other than an apply has replaced `before` by `after`. */
export function updated(
  before: Stored | undefined,
  after: Stored,
  writer: Writer,
): ManagedFields[] {
  const [old, now] = [ownable(before ?? {}, writer.schema), ownable(after, writer.schema)];
  const entries = (before?.metadata.managedFields ?? []).flatMap((entry) => {
    const fieldsV1 = present(fieldsIn(entry), now);
    return isLeaf(fieldsV1) ? [] : [{ ...entry, fieldsV1 }];
  });
  const changed = changedFields(old, now);
  if (changed === undefined) return entries;
  const own = entries.find((entry) => isOf(entry, "Update", writer));
  const fields = union(fieldsIn(own), changed);
  const others = shrunk(
    entries.filter((entry) => entry !== own),
    changed,
  );
  return [...others, entryOf("Update", writer, after.apiVersion, fields)];
}

/**
 * Fake API server: which field manager owns which field (metadata.managedFields), and what
 * server-side apply makes of an object. Fields are in the API's own form (fieldsV1): `f:name` for a
 * field, `k:{"name":"a"}` for an item of a list that is merged by keys, `v:"a"` for one of a set.
 */
import { isDeepStrictEqual } from "node:util";
import { refuse, type ManagedFields, type Stored } from "./protocol.ts";

/** Owned fields as a tree; a leaf has no fields below it. */
export type Fields = { [key: string]: Fields };
type Json = Record<string, unknown>;

/** Lists that are merged item by item, and the keys of their items. All others are one value. */
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
/** Objects that are one value: label selectors, and a reference to a role. */
const atomic: ReadonlySet<string> = new Set([
  "selector",
  "nodeSelector",
  "roleRef",
  "nodeAffinity",
]);

/** What the API server writes itself, and what names an object: nobody owns it. */
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

/** The children of a value by their keys in fieldsV1; undefined for a value that is one. */
function childrenOf(
  value: unknown,
  name: string,
): Map<string, readonly [string, unknown]> | undefined {
  if (isJson(value) && !atomic.has(name))
    return new Map(
      Object.entries(value).flatMap(([key, one]) =>
        one === undefined || one === null ? [] : [[`f:${key}`, [key, one] as const] as const],
      ),
    );
  if (!Array.isArray(value)) return undefined;
  if (sets.has(name)) return new Map(value.map((one) => [`v:${JSON.stringify(one)}`, ["", one]]));
  const keys = listKeys[name];
  if (keys === undefined || !value.every(isJson)) return undefined;
  return new Map(value.map((one: Json) => [itemKey(one, keys), ["", one]]));
}

const itemKey = (item: Json, keys: readonly string[]): string =>
  `k:${JSON.stringify(Object.fromEntries(keys.flatMap((key) => (key in item ? [[key, item[key]]] : []))))}`;

/** The object without what nobody owns. */
function ownable(object: Json): Json {
  const { apiVersion: _, kind: __, metadata, ...rest } = object;
  const mine = Object.entries((metadata ?? {}) as Json).filter(
    ([key, value]) => value !== undefined && !unowned.has(key),
  );
  return mine.length > 0 ? { ...rest, metadata: Object.fromEntries(mine) } : rest;
}

function fieldsOf(value: unknown, name = ""): Fields {
  const fields: Fields = {};
  for (const [key, [child, one]] of childrenOf(value, name) ?? [])
    fields[key] = fieldsOf(one, child);
  return fields;
}

/** Fields of `after` that are not so in `before`; undefined when there are none. */
function changedFields(before: unknown, after: unknown, name = ""): Fields | undefined {
  const [old, now] = [childrenOf(before, name), childrenOf(after, name)];
  if (old === undefined || now === undefined)
    return isDeepStrictEqual(before, after) ? undefined : fieldsOf(after, name);
  const found: Fields = {};
  for (const [key, [child, one]] of now) {
    const known = old.get(key);
    const changed = known ? changedFields(known[1], one, child) : fieldsOf(one, child);
    if (changed !== undefined) found[key] = changed;
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

const isLeaf = (fields: Fields): boolean => Object.keys(fields).length === 0;

/** `fields` without those of `gone`. */
function without(fields: Fields, gone: Fields): Fields | undefined {
  if (isLeaf(gone) || isLeaf(fields)) return undefined;
  const left: Fields = {};
  for (const [key, below] of Object.entries(fields)) {
    const rest = gone[key] === undefined ? below : without(below, gone[key]);
    if (rest !== undefined) left[key] = rest;
  }
  return isLeaf(left) ? undefined : left;
}

/** The fields of both. */
function union(one: Fields, other: Fields): Fields {
  const all: Fields = { ...one };
  for (const [key, below] of Object.entries(other)) all[key] = union(all[key] ?? {}, below);
  return all;
}

/** Those of `fields` that the value still has. */
function present(fields: Fields, value: unknown, name = ""): Fields {
  const children = childrenOf(value, name);
  const left: Fields = {};
  for (const [key, below] of Object.entries(fields)) {
    const found = children?.get(key);
    if (found !== undefined) left[key] = present(below, found[1], found[0]);
  }
  return left;
}

/** Paths of fields that both trees have and whose values differ, as a conflict names them. */
function contested(
  theirs: Fields,
  ours: Fields,
  live: unknown,
  wanted: unknown,
  name = "",
): string[] {
  const [old, now] = [childrenOf(live, name), childrenOf(wanted, name)];
  return Object.entries(theirs).flatMap(([key, below]) => {
    const mine = ours[key];
    const [[child, has] = ["", undefined], [, wants] = ["", undefined]] = [
      old?.get(key),
      now?.get(key),
    ];
    if (mine === undefined) return [];
    if (isLeaf(below) || isLeaf(mine))
      return isDeepStrictEqual(has, wants) ? [] : [`.${key.slice(2)}`];
    return contested(below, mine, has, wants, child).map((path) => `.${key.slice(2)}${path}`);
  });
}

/** What an apply makes of `live`: objects and lists with keys are merged, the rest is replaced. */
function merged(live: unknown, wanted: unknown, name = ""): unknown {
  const old = childrenOf(live, name);
  if (old === undefined || childrenOf(wanted, name) === undefined) return wanted;
  if (isJson(live) && isJson(wanted)) {
    const result: Json = { ...live };
    for (const [key, one] of Object.entries(wanted))
      if (one !== undefined && one !== null) result[key] = merged(live[key], one, key);
    return result;
  }
  const now = childrenOf(wanted, name) ?? new Map<string, readonly [string, unknown]>();
  const others = [...old].filter(([key]) => !now.has(key)).map(([, [, one]]) => one);
  return [...[...now].map(([key, [, one]]) => merged(old.get(key)?.[1], one)), ...others];
}

/** The value without the fields of `gone`, unless `kept` has them. */
function removed(value: unknown, gone: Fields, kept: Fields, name = ""): unknown {
  const children = childrenOf(value, name);
  if (children === undefined) return value;
  const left = [...children].flatMap(([key, [child, one]]) => {
    const [going, staying] = [gone[key], kept[key]];
    if (going === undefined) return [[child, one] as const];
    if (staying === undefined) return [];
    return [[child, isLeaf(staying) ? one : removed(one, going, staying, child)] as const];
  });
  if (Array.isArray(value)) return left.map(([, one]) => one);
  return Object.fromEntries(
    left.filter(
      ([, one]) => !(isJson(one) && Object.keys(one).length === 0 && !isEmptyIn(value, one)),
    ),
  );
}

/** True for an object that was empty already. */
const isEmptyIn = (value: unknown, one: unknown): boolean =>
  Object.values(value as Json).includes(one);

export type Writer = Readonly<{ manager: string; subresource: string; time: string }>;

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

/** Takes what an entry owns from it; an entry that owns nothing ends. */
function shrunk(entries: readonly ManagedFields[], gone: Fields): ManagedFields[] {
  return entries.flatMap((entry) => {
    const fieldsV1 = without(fieldsIn(entry), gone);
    return fieldsV1 === undefined ? [] : [{ ...entry, fieldsV1 }];
  });
}

/**
 * Server-side apply of `config`, which has no metadata but what is declared. A field that another
 * manager owns with another value is a 409, unless `force`; then it is taken from that manager. A
 * field that this manager applied before and declares no more goes, unless another one owns it.
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
  const wanted = ownable(config);
  const has = ownable(live ?? {});
  const ours = fieldsOf(wanted);
  for (const entry of others) {
    const conflicts = contested(fieldsIn(entry), ours, has, wanted);
    if (conflicts.length > 0 && !force)
      throw refuse(
        409,
        "Conflict",
        `Apply failed with ${conflicts.length} conflicts: conflicts with "${entry.manager}": ${conflicts.join(", ")}`,
      );
  }
  const taken = changedFields(has, wanted);
  if (taken !== undefined) others = shrunk(others, taken);
  const kept = others.reduce((all, entry) => union(all, fieldsIn(entry)), ours);
  const left = own === undefined ? has : removed(has, fieldsIn(own), kept);
  const result = merged(left, wanted) as Json;
  const managedFields = [...others, entryOf("Apply", writer, String(config["apiVersion"]), ours)];
  return { ...result, metadata: { ...((result["metadata"] ?? {}) as Json), managedFields } };
}

/** Who owns what after `after` was written in the place of `before` by another way than apply. */
export function updated(
  before: Stored | undefined,
  after: Stored,
  writer: Writer,
): ManagedFields[] {
  const [old, now] = [ownable(before ?? {}), ownable(after)];
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

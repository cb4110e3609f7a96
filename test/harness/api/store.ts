/**
 * Fake API server: its objects, in memory and without a clock of its own. It has the rules that our
 * programs depend on: versions, conflicts, field owners, deletion in two steps, watches from a
 * version. It has no controllers, therefore the pods of a deleted owner stay. test/harness/nodes
 * plays the controllers of nodes and DaemonSets. The fake does not require a namespace to exist,
 * and validates only pull secrets.
 */
import { isDeepStrictEqual } from "node:util";
import { applied, updated, type Writer } from "./ownership.ts";
import {
  builtIn,
  refuse,
  mergePatch,
  resourcesIn,
  withDefaults,
  type Address,
  type ManagedFields,
  type Picks,
  type Resource,
  type Stored,
  type StoredMetadata,
} from "./protocol.ts";

/** A change of an object. The version of the change is the version of `object`. */
export type Change = Readonly<{
  type: "ADDED" | "MODIFIED" | "DELETED";
  address: Address;
  object: Stored;
  before: Stored | undefined;
}>;

/** A page of a list at one moment. `next` is the place where the next page begins. */
export type Page = Readonly<{
  items: readonly Stored[];
  version: string;
  next: string | undefined;
}>;

export type WriteOptions = Readonly<{ manager: string; dryRun?: boolean }>;
export type DeleteOptions = Readonly<{
  gracePeriodSeconds?: number | undefined;
  preconditions?: Readonly<{ uid?: string; resourceVersion?: string }> | undefined;
}>;

/**
 * The store keeps this many changes for watches that resume. Real API servers keep the changes of
 * some minutes.
 */
const historyLength = 1000;

/** The lowest version that an object can have. */
const firstVersion = 100;

/** An object as a client sends it. */
export type Body = Record<string, unknown> & { metadata?: Partial<StoredMetadata> };

export class Store {
  /** Another program's admission webhook, which can change an object before it is stored. */
  admit: (object: Stored) => void = () => {};
  readonly #now: () => Date;
  readonly #objects = new Map<string, Stored>();
  readonly #resources: Resource[] = [...builtIn];
  readonly #watchers = new Set<(change: Change) => void>();
  #history: Change[] = [];
  /** The store has forgotten the changes up to this version. */
  #compacted = firstVersion;
  #version = firstVersion;
  #uids = 0;

  /** `now` returns the times that are written into metadata. */
  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
  }

  /** The version of the last write. */
  get version(): string {
    return String(this.#version);
  }

  /** Uses up a version, as if a client had written an unrelated object, and returns the version. */
  spent(): string {
    return this.#next();
  }

  get resources(): readonly Resource[] {
    return this.#resources;
  }

  /** Serves the resources of CustomResourceDefinitions in YAML, each by its first version. */
  define(yaml: string): void {
    this.#resources.push(...resourcesIn(yaml));
  }

  has(address: Address): boolean {
    return this.#objects.has(keyOf(address));
  }

  /** Returns the object. Refuses with 404 if it does not exist. */
  get(address: Address): Stored {
    return this.#objects.get(keyOf(address)) ?? notFound(address);
  }

  /**
   * Returns objects of a collection in the order of their names: at most `limit` objects, beginning
   * with `from`.
   */
  list(
    address: Omit<Address, "name">,
    picks: Picks,
    limit = Number.POSITIVE_INFINITY,
    from = "",
  ): Page {
    const [after = "", version = this.version] = from === "" ? [] : (JSON.parse(from) as string[]);
    if (Number(version) < this.#compacted)
      throw refuse(410, "Expired", "The provided continue parameter is too old");
    const prefix = collectionOf(address);
    const all = [...this.#objects]
      .filter(([key, object]) => key.startsWith(prefix) && key > after && picks(object))
      .toSorted(([key], [other]) => (key < other ? -1 : 1));
    const items = all.slice(0, limit);
    const last = items.at(-1)?.[0] ?? "";
    const next = items.length < all.length ? JSON.stringify([last, version]) : undefined;
    return { items: items.map(([, object]) => object), version, next };
  }

  /**
   * Calls `each` with every change after `version`, also with changes before this call. Returns a
   * function that ends the watch. Refuses with 410 if the store has forgotten some of the changes.
   */
  watch(version: number, each: (change: Change) => void): () => void {
    if (version < this.#compacted) throw refuse(410, "Expired", "too old resource version");
    for (const change of this.#history)
      if (Number(change.object.metadata.resourceVersion) > version) each(change);
    this.#watchers.add(each);
    return () => void this.#watchers.delete(each);
  }

  /** Forgets the changes so far, as a compaction of etcd does. */
  compact(): void {
    [this.#history, this.#compacted] = [[], this.#version + 1];
    this.#version += 1;
  }

  create(at: Address, body: Body, { manager, dryRun = false }: WriteOptions): Stored {
    const generated = `${body.metadata?.generateName ?? ""}${this.#uids.toString(36).padStart(5, "0")}`;
    const address = { ...at, name: body.metadata?.name ?? generated };
    if (this.#objects.has(keyOf(address)))
      throw refuse(409, "AlreadyExists", `${described(address)} already exists`);
    const object = this.#born(address, body);
    object.metadata.managedFields = updated(undefined, object, this.#writer(address, manager));
    return this.#put(address, undefined, object, dryRun);
  }

  replace(address: Address, body: Body, { manager, dryRun = false }: WriteOptions): Stored {
    const live = this.get(address);
    const { uid, resourceVersion } = body.metadata ?? {};
    if (resourceVersion === undefined && address.resource.schema !== undefined)
      throw refuse(
        422,
        "Invalid",
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
      );
    expect(address, live, uid, resourceVersion);
    const object = this.#renewed(address, live, body);
    object.metadata.managedFields = updated(live, object, this.#writer(address, manager));
    return this.#put(address, live, object, dryRun);
  }

  /**
   * Applies a JSON merge patch. Compares the version first, which also differs if the object was
   * deleted and created again. Then compares the uid, which a patch cannot change.
   */
  patch(address: Address, body: Body, { manager, dryRun = false }: WriteOptions): Stored {
    const live = this.get(address);
    const { uid, resourceVersion } = body.metadata ?? {};
    expect(address, live, undefined, resourceVersion);
    if (uid !== undefined && uid !== live.metadata.uid)
      throw refuse(
        422,
        "Invalid",
        `${described(address)} is invalid: metadata.uid: Invalid value: ${JSON.stringify(uid)}: field is immutable`,
      );
    const object = this.#renewed(address, live, mergePatch(live, body) as Body);
    object.metadata.managedFields = updated(live, object, this.#writer(address, manager));
    return this.#put(address, live, object, dryRun);
  }

  /** Server-side apply. Creates the object if it does not exist, unless the body has a uid. */
  apply(
    address: Address,
    body: Body,
    { manager, force, dryRun = false }: WriteOptions & Readonly<{ force: boolean }>,
  ): Stored {
    const live = this.#objects.get(keyOf(address));
    const { uid, resourceVersion } = body.metadata ?? {};
    if (live !== undefined) expect(address, live, uid, resourceVersion);
    else if (address.subresource !== "") notFound(address);
    else if (uid !== undefined)
      throw refuse(
        409,
        "Conflict",
        `${described(address)}: uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    const config = declaredIn(address, body);
    const mergedBody = applied(live, config, this.#writer(address, manager), force) as Body;
    const { managedFields = [] } = mergedBody.metadata ?? {};
    const object =
      live === undefined
        ? this.#born(address, mergedBody)
        : this.#renewed(address, live, mergedBody);
    return this.#put(
      address,
      live,
      { ...object, metadata: { ...object.metadata, managedFields } },
      dryRun,
    );
  }

  /**
   * Deletes an object, or marks it as deleted: an object with finalizers stays until its finalizers
   * are removed. A pod that was bound to a node stays until its kubelet deletes it without a grace
   * period.
   */
  remove(address: Address, { gracePeriodSeconds, preconditions }: DeleteOptions): Stored {
    const live = this.get(address);
    expect(address, live, preconditions?.uid, preconditions?.resourceVersion);
    const grace = graceOf(live, gracePeriodSeconds);
    if (grace === 0 && (live.metadata.finalizers ?? []).length === 0)
      return this.#drop(address, live);
    if (
      live.metadata.deletionTimestamp !== undefined &&
      live.metadata.deletionGracePeriodSeconds === grace
    )
      return live;
    const metadata = {
      ...live.metadata,
      deletionTimestamp: stamp(new Date(this.#now().getTime() + grace * 1000)),
      deletionGracePeriodSeconds: grace,
    };
    return this.#put(address, live, { ...live, metadata }, false);
  }

  /** Deletes all objects at once, also those that wait for finalizers or kubelets. */
  clear(): void {
    for (const object of this.#objects.values()) this.#drop(this.#addressed(object), object);
  }

  #addressed({ apiVersion, kind, metadata: { namespace = "", name } }: Stored): Address {
    const resource = this.#resources.find(
      (candidate) => candidate.apiVersion === apiVersion && candidate.kind === kind,
    );
    if (resource === undefined) throw new Error(`${kind} is not served`);
    return { resource, namespace, name, subresource: "" };
  }

  #writer({ resource: { schema }, subresource }: Address, manager: string): Writer {
    return { manager, subresource, time: stamp(this.#now()), schema };
  }

  /** A new object. Its metadata is generated, and its kind defines its first status. */
  #born({ resource, namespace, name }: Address, { status, ...body }: Body): Stored {
    const { apiVersion, kind, counted, hasStatus, bornStatus, schema } = resource;
    this.#uids += 1;
    const metadata = {
      ...body.metadata,
      name,
      ...(namespace === "" ? {} : { namespace }),
      uid: `00000000-0000-4000-8000-${String(this.#uids).padStart(12, "0")}`,
      resourceVersion: "",
      creationTimestamp: stamp(this.#now()),
      ...(counted === true ? { generation: 1 } : {}),
    };
    const object = { ...body, apiVersion, kind, metadata };
    const full = schema === undefined ? object : (withDefaults(object, schema) as Stored);
    const first = hasStatus === true && bornStatus !== "given" ? bornStatus : status;
    return first === undefined ? full : { ...full, status: first };
  }

  /** The live object, with the body's values in the parts that a write to this path can change. */
  #renewed(address: Address, live: Stored, body: Body): Stored {
    const { resource, subresource } = address;
    if (subresource === "status")
      return { ...live, metadata: { ...live.metadata }, status: body["status"] };
    const { status: _, ...rest } = body;
    const { labels, annotations, finalizers, ownerReferences } = body.metadata ?? {};
    const theirs = { labels, annotations, finalizers, ownerReferences };
    const metadata = { ...live.metadata, ...theirs } as StoredMetadata;
    const status = resource.hasStatus === true ? live.status : body["status"];
    const { apiVersion, kind } = live;
    const object = { ...rest, apiVersion, kind, metadata, status } as Stored;
    return resource.schema === undefined
      ? object
      : (withDefaults(object, resource.schema) as Stored);
  }

  /** Stores the object, unless nothing has changed or the request is a dry run. */
  #put(address: Address, before: Stored | undefined, desired: Stored, dryRun: boolean): Stored {
    const after = asJson(desired);
    after.metadata.managedFields?.sort((entry, other) =>
      entryKey(entry) < entryKey(other) ? -1 : 1,
    );
    this.admit(after);
    validate(address, before, after);
    if (before !== undefined && isSame(before, after)) return before;
    if (
      before !== undefined &&
      address.resource.counted === true &&
      !isDeepStrictEqual(declared(before), declared(after))
    )
      after.metadata.generation = (before.metadata.generation ?? 0) + 1;
    if (dryRun) {
      after.metadata.resourceVersion = before?.metadata.resourceVersion ?? "";
      return after;
    }
    const { deletionTimestamp, deletionGracePeriodSeconds: grace, finalizers } = after.metadata;
    if (deletionTimestamp !== undefined && grace === 0 && (finalizers ?? []).length === 0)
      return this.#drop(address, after);
    after.metadata.resourceVersion = this.#next();
    this.#objects.set(keyOf(address), after);
    this.#notify({
      type: before === undefined ? "ADDED" : "MODIFIED",
      address,
      object: after,
      before,
    });
    return after;
  }

  #drop(address: Address, live: Stored): Stored {
    this.#objects.delete(keyOf(address));
    const metadata = { ...live.metadata, resourceVersion: this.#next() };
    const object = { ...live, metadata };
    this.#notify({ type: "DELETED", address, object, before: live });
    return object;
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #notify(change: Change): void {
    this.#history.push(change);
    const oldest = this.#history.length > historyLength ? this.#history.shift() : undefined;
    if (oldest !== undefined) this.#compacted = Number(oldest.object.metadata.resourceVersion);
    for (const each of this.#watchers) each(change);
  }
}

const collectionOf = ({ resource, namespace }: Omit<Address, "name">): string =>
  `${resource.apiVersion}/${resource.plural}/${namespace === "" ? "" : `${namespace}/`}`;
const keyOf = (address: Address): string =>
  address.namespace === ""
    ? `${collectionOf(address)}/${address.name}`
    : `${collectionOf(address)}${address.name}`;

/** `secrets "pull-secret"`, as the API server names an object. */
function described({ resource, name }: Address): string {
  const [, group] = /^(.+)\//.exec(resource.apiVersion) ?? [];
  return `${resource.plural}${group === undefined ? "" : `.${group}`} "${name}"`;
}

function notFound(address: Address): never {
  throw refuse(404, "NotFound", `${described(address)} not found`);
}

/** Refuses with 409 if the live object has another uid or version than the given ones. */
function expect(address: Address, { metadata }: Stored, uid?: string, version?: string): void {
  if (uid !== undefined && uid !== metadata.uid)
    throw refuse(
      409,
      "Conflict",
      `${described(address)}: the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid})`,
    );
  if (version !== undefined && version !== "" && version !== metadata.resourceVersion)
    throw refuse(
      409,
      "Conflict",
      `Operation cannot be fulfilled on ${described(address)}: the object has been modified; please apply your changes to the latest version and try again`,
    );
}

/** The fields of an apply's body that an apply to this path can change. */
function declaredIn({ resource, subresource }: Address, body: Body): Body {
  const { apiVersion, kind, metadata = {}, status, ...rest } = body;
  if (subresource === "status") return { apiVersion, kind, status };
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  const config = {
    apiVersion,
    kind,
    metadata: { labels, annotations, finalizers, ownerReferences },
    ...rest,
  };
  return asJson<object>(
    resource.hasStatus === true || status === undefined ? config : { ...config, status },
  ) as Body;
}

/** Seconds that a pod's kubelet gets to end the pod; 0 for everything else. */
function graceOf({ kind, spec, status }: Stored, requestedSeconds: number | undefined): number {
  const { nodeName = "", terminationGracePeriodSeconds = 30 } = (spec ?? {}) as {
    nodeName?: string;
    terminationGracePeriodSeconds?: number;
  };
  const { phase = "" } = (status ?? {}) as { phase?: string };
  if (kind !== "Pod" || nodeName === "" || ["Succeeded", "Failed"].includes(phase)) return 0;
  return requestedSeconds ?? terminationGracePeriodSeconds;
}

/** The API server's own rules for Secrets. */
function validate(address: Address, before: Stored | undefined, after: Stored): void {
  if (after.kind !== "Secret") return;
  const invalid = (why: string) =>
    refuse(422, "Invalid", `Secret "${address.name}" is invalid: ${why}`);
  if (before !== undefined && before["type"] !== after["type"])
    throw invalid("type: Invalid value: field is immutable");
  if (
    before?.["immutable"] === true &&
    !isDeepStrictEqual([before.data, true], [after.data, after["immutable"]])
  )
    throw invalid("data: Forbidden: field is immutable when `immutable` is set");
  if (after["type"] !== "kubernetes.io/dockerconfigjson") return;
  const document = after.data?.[".dockerconfigjson"];
  if (document === undefined) throw invalid("data[.dockerconfigjson]: Required value");
  try {
    JSON.parse(Buffer.from(document, "base64").toString());
  } catch {
    throw invalid("data[.dockerconfigjson]: Invalid value: is not JSON");
  }
}

/** The part whose changes metadata.generation counts. */
const declared = (object: Stored): object => ({
  ...object,
  metadata: undefined,
  status: undefined,
});

/** True if a write changed only the times and versions that every write changes. */
function isSame(object: Stored, other: Stored): boolean {
  const timeless = ({ metadata, ...rest }: Stored) => ({
    ...rest,
    metadata: {
      ...metadata,
      resourceVersion: undefined,
      managedFields: metadata.managedFields?.map((entry) => ({ ...entry, time: undefined })),
    },
  });
  return isDeepStrictEqual(timeless(object), timeless(other));
}

/**
 * The sort key of entries. Without a fixed order, two writers that write the same values in turn
 * would change the object.
 */
const entryKey = ({ manager, operation, subresource = "" }: ManagedFields): string =>
  [operation, manager, subresource].join("/");

/** A copy without undefined fields, as it would arrive over the wire. */
const asJson = <T extends object>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** A time as metadata has it: to the second. */
const stamp = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, "Z");

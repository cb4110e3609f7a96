/**
 * Objects as their watch last showed them, read without a request. A write that is based on them
 * carries their resourceVersion, so a stale read costs a 409 and no more. A reply to a write of
 * ours counts at once. We ignore older events that arrive after the reply.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import { isDeepStrictEqual } from "node:util";

/** Each object's value, and the version at which the value is true. */
class Versioned<T> {
  /** The version of the last list or event; undefined while there is no watch. */
  #version: bigint | undefined;
  #entries = new Map<string, Readonly<{ version: bigint; value: T }>>();

  get version(): bigint | undefined {
    return this.#version;
  }

  get size(): number {
    return this.#entries.size;
  }

  value(name: string): T | undefined {
    return this.#entries.get(name)?.value;
  }

  /** A copy, which no later event changes. */
  values(): ReadonlyMap<string, T> {
    return new Map([...this.#entries].map(([name, { value }]) => [name, value]));
  }

  /**
   * Takes a whole list, which replaces everything known before. The list counts even if versions
   * went back because etcd was restored.
   */
  listed(all: Iterable<readonly [name: string, value: T]>, version: bigint): void {
    this.#version = version;
    this.#entries = new Map([...all].map(([name, value]) => [name, { version, value }]));
  }

  /** Takes an event's version of one object; `undefined`: it was deleted, or is not kept. */
  received(name: string, value: T | undefined, version: bigint): void {
    if (this.#version === undefined) return;
    this.put(name, value, version);
    if (version > this.#version) this.#version = version;
  }

  /** Takes a version of one object, unless a later one is known. Other objects stay as they are. */
  put(name: string, value: T | undefined, version: bigint): void {
    // If an object is absent at some version, it stays absent even if an older reply shows it.
    const currentVersion = this.#entries.get(name)?.version ?? this.#version;
    if (currentVersion === undefined || version <= currentVersion) return;
    if (value === undefined) this.#entries.delete(name);
    else this.#entries.set(name, { version, value });
  }

  /** Records the end of the watch. The values stay. */
  lost(): void {
    this.#version = undefined;
  }
}

/** An object, or its absence, at a version. */
type State = Readonly<{ object: KubernetesObject | undefined }>;

/** The key under which an informer of one object keeps that object, whatever its name. */
const only = "";

/**
 * Keeps one object. While its watch is broken, or has not shown our last write yet, the informer
 * does not answer, and the caller must ask the API server.
 */
export class Informer {
  readonly #one = new Versioned<KubernetesObject>();
  /**
   * `#doubts`: how many writes so far had an unknown result at first. `#answered`: how many of
   * these results a list has shown since.
   */
  #doubts = 0;
  #answered = 0;

  /**
   * The object, while the informer is up to date; otherwise whether a list is needed or a plain
   * read is enough.
   */
  get shown(): State | "list" | "read" {
    if (this.#one.version === undefined) return "read";
    return this.doubted ? "list" : { object: this.#one.value(only) };
  }

  /** True until the result of our last write is known, whether there is a watch or not. */
  get doubted(): boolean {
    return this.#doubts > this.#answered;
  }

  /**
   * The number of writes that had an unknown result. Read this number before you request a list,
   * and pass it with the list's answer. The list then shows the results of all writes up to this
   * number, but not of later writes.
   */
  get doubts(): number {
    return this.#doubts;
  }

  /** Takes a list, which replaces everything known before. */
  listed(object: KubernetesObject | undefined, version: string, asked = 0): void {
    this.#one.listed(object === undefined ? [] : [[only, object]], numberOf(version));
    this.#answered = Math.max(this.#answered, asked);
  }

  /**
   * Takes an event of the watch that began at the last list. `object` is undefined when it was
   * deleted in that version.
   */
  received(object: KubernetesObject | undefined, version: string): void {
    this.#one.received(only, object, numberOf(version));
  }

  /** Records the end of the watch, however it ended. */
  lost(): void {
    this.#one.lost();
  }

  /** Takes the API server's reply to a write of ours. */
  wrote(object: KubernetesObject): void {
    const version = object.metadata?.resourceVersion;
    // Without a watch, a list that is under way can be older than this reply, so we need another
    // list.
    if (this.#one.version === undefined || version === undefined) this.doubt();
    else this.received(object, version);
  }

  /**
   * Records a write whose result is unknown: the write was refused or not answered, or it was a
   * deletion, whose reply does not show what is left.
   */
  doubt(): void {
    this.#doubts += 1;
  }

  /**
   * Takes a list that was requested while the watch ran. `asked`: the number of writes with an
   * unknown result at the time of the request. We ignore older events that still arrive.
   */
  relisted(object: KubernetesObject | undefined, version: string, asked: number): void {
    if (this.#one.version === undefined) return;
    this.received(object, version);
    this.#answered = Math.max(this.#answered, asked);
  }
}

/** The content of a collection at one moment. */
export type View<T> = Readonly<{
  /** The list is complete, and its watch has shown everything after it. */
  synced: boolean;
  /** A list was complete at least once. */
  listed: boolean;
  /** Name → the kept part of the object. While `synced` is false, its last known state. */
  items: ReadonlyMap<string, T>;
  /** The last error of a list or a watch, until a watch has proved that it is alive. */
  failure?: Error;
}>;

type Bounds = Readonly<{
  /** The name under which an object is kept. Default: its name, as in one namespace. */
  keyOf?: (object: KubernetesObject) => string;
  /** How many objects are kept at most, if others create them. */
  most?: number;
}>;

const nameOf = ({ metadata }: KubernetesObject): string => metadata?.name ?? "";

/**
 * The objects of a collection, in one namespace or in the whole cluster, reduced to what `keep`
 * returns, because 5,000 pods of 10 kB would not fit into the memory of the process. `keep` returns
 * undefined for an object that is not wanted. `keep` must not throw, and must return nothing that
 * refers to the object itself.
 */
export class CollectionInformer<T> {
  readonly #keep: (object: KubernetesObject) => T | undefined;
  readonly #all = new Versioned<T>();
  readonly #keyOf: (object: KubernetesObject) => string;
  readonly #most: number;
  #cut = 0;
  /** The pages of the list so far, and the replies to writes since it was requested. */
  #listing: { values: Map<string, T>; replies: Kept<T>[]; cut: number } | undefined;

  constructor(
    keep: (object: KubernetesObject) => T | undefined,
    { keyOf = nameOf, most = Number.POSITIVE_INFINITY }: Bounds = {},
  ) {
    this.#keep = keep;
    this.#keyOf = keyOf;
    this.#most = most;
  }

  #failure: Error | undefined;
  #hasListed = false;

  /** A consistent view. It is a copy, which later events do not change. */
  get view(): View<T> {
    const synced = this.#all.version !== undefined;
    const view = { synced, listed: this.#hasListed, items: this.#all.values() };
    return this.#failure === undefined ? view : { ...view, failure: this.#failure };
  }

  /** How many objects are left out; at least one if the watch has shown any. */
  get cut(): number {
    return this.#cut;
  }

  /** To be called before a list is requested. */
  begins(): void {
    this.#listing = { values: new Map(), replies: [], cut: 0 };
  }

  /** Takes one page of the list. */
  page(objects: readonly KubernetesObject[]): void {
    const listing = this.#listing;
    if (listing === undefined) return;
    for (const object of objects) {
      const value = this.#keep(object);
      if (value === undefined) continue;
      if (listing.values.size < this.#most) listing.values.set(this.#keyOf(object), value);
      else listing.cut += 1;
    }
  }

  /**
   * Records the end of the list. Only then does the view show the list, with all its pages at once.
   */
  listed(version: string): void {
    const { values, replies, cut } = this.#listing ?? {
      values: new Map<string, T>(),
      replies: [],
      cut: 0,
    };
    this.#cut = cut;
    this.#listing = undefined;
    this.#hasListed = true;
    this.#all.listed(values, numberOf(version));
    for (const { name, value, version: at } of replies) this.#all.put(name, value, at);
  }

  /** Takes an event of the watch. Returns true if the kept part of the object has changed. */
  received(object: KubernetesObject, version: string, deleted: boolean): boolean {
    const name = this.#keyOf(object);
    const before = this.#all.value(name);
    const isCut = before === undefined && this.#all.size >= this.#most && !deleted;
    if (isCut) this.#cut = Math.max(1, this.#cut);
    const value = deleted || isCut ? undefined : this.#keep(object);
    this.#all.received(name, value, numberOf(version));
    return !isDeepStrictEqual(before, this.#all.value(name));
  }

  /** Takes the API server's reply to a write of ours. */
  wrote(object: KubernetesObject): void {
    const { resourceVersion = "" } = object.metadata ?? {};
    const value = this.#keep(object);
    const reply = { name: this.#keyOf(object), value, version: numberOf(resourceVersion) };
    this.#listing?.replies.push(reply);
    this.#all.put(reply.name, reply.value, reply.version);
  }

  /** Records the error with which a list or a watch ended. */
  failed(error: Error): void {
    this.#failure = error;
  }

  /**
   * Records a sign that the watch is alive, such as a bookmark. A successful list is not a sign.
   */
  alive(): void {
    this.#failure = undefined;
  }

  /** Records the end of a watch after which a list must follow. */
  lost(): void {
    this.#all.lost();
    this.#listing = undefined;
  }
}

type Kept<T> = Readonly<{ name: string; value: T | undefined; version: bigint }>;

/** Versions have 20 digits at most; reading a million digits takes seconds. */
function numberOf(version: string): bigint {
  if (!/^\d{1,20}$/.test(version)) throw new Error("a resourceVersion is not a number");
  return BigInt(version);
}

/**
 * The laws of a collection's informer, against a fake API server that keeps the whole history of
 * three objects. Writes, late replies and events, breaks, lists and restores of etcd come in any
 * order. A synced view shows only states that were true. It never shows a state from before our
 * last write, and never goes back to an older state.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { KubernetesObject } from "@kubernetes/client-node";
import { CollectionInformer } from "./informer.ts";

const names = ["a", "b", "c"] as const;
type Name = (typeof names)[number];
/** `exists`: the object exists from this version on. */
type Entry = Readonly<{ name: Name; version: number; exists: boolean }>;

const objectOf = ({ name, version }: Entry): KubernetesObject => ({
  metadata: { name, resourceVersion: String(version) },
});

/** A collection in etcd, a watch that can lag, a list in pages, and replies that come late. */
class FakeCollection {
  /** Keeps only the version of each object. */
  readonly informer = new CollectionInformer(({ metadata }) => Number(metadata?.resourceVersion));
  #version = 10;
  #history: Entry[] = [];
  #events: Entry[] = [];
  #replies: Entry[] = [];
  #listing: { version: number; remaining: Entry[] } | undefined;
  #watched = false;
  /** Name → the lowest version of this object that the view is allowed to show. */
  readonly #floors = new Map<Name, number>();
  /** How many synced views have been checked. */
  rounds = 0;

  /** The last entry of that name, at this version or before. */
  #at(name: Name, version = this.#version): Entry | undefined {
    return this.#history.findLast((entry) => entry.name === name && entry.version <= version);
  }

  write(name: Name, exists: boolean): Entry | undefined {
    if (!exists && this.#at(name)?.exists !== true) return undefined;
    this.#version += 1;
    const entry = { name, version: this.#version, exists };
    this.#history.push(entry);
    if (this.#watched || this.#listing !== undefined) this.#events.push(entry);
    return entry;
  }

  own(name: Name): void {
    const entry = this.write(name, true);
    if (entry !== undefined) this.#replies.push(entry);
  }

  reply(): void {
    const entry = this.#replies.shift();
    if (entry === undefined) return;
    this.informer.wrote(objectOf(entry));
    this.#floors.set(entry.name, Math.max(this.#floors.get(entry.name) ?? 0, entry.version));
  }

  deliver(): void {
    const entry = this.#watched ? this.#events.shift() : undefined;
    if (entry !== undefined)
      this.informer.received(objectOf(entry), String(entry.version), !entry.exists);
  }

  break(): void {
    [this.#watched, this.#events, this.#listing] = [false, [], undefined];
    this.informer.lost();
  }

  list(): void {
    if (this.#watched || this.#listing !== undefined) return;
    const entries = names.flatMap((name) => this.#at(name) ?? []).filter(({ exists }) => exists);
    this.#listing = { version: this.#version, remaining: entries };
    this.#events = [];
    this.informer.begins();
  }

  /** One page of one object, or the end of the list. */
  page(): void {
    if (this.#listing === undefined) return;
    const { version, remaining } = this.#listing;
    const next = remaining.shift();
    if (next !== undefined) return this.informer.page([objectOf(next)]);
    this.informer.listed(String(version));
    [this.#listing, this.#watched] = [undefined, true];
  }

  /** etcd comes back from a backup: versions go back, and every connection breaks. */
  restore(): void {
    this.break();
    this.#replies = [];
    this.#history.splice(-3);
    this.#version = Math.max(10, this.#history.at(-1)?.version ?? 0);
    this.#floors.clear();
  }

  catchUp(): void {
    this.list();
    while (this.#listing !== undefined) this.page();
    while (this.#events.length > 0) this.deliver();
    while (this.#replies.length > 0) this.reply();
  }

  get truth(): ReadonlyMap<string, number> {
    const all = names.flatMap((name) => this.#at(name) ?? []).filter(({ exists }) => exists);
    return new Map(all.map(({ name, version }) => [name, version]));
  }

  /**
   * Fails if the view shows something that was never true. For each name, the version in the view,
   * or the object's absence, must have been true at the name's minimum version or later.
   */
  look(): void {
    const { synced, items } = this.informer.view;
    assert.equal(synced, this.#watched);
    if (!synced) return;
    this.rounds += 1;
    for (const name of names) {
      const floor = this.#floors.get(name) ?? 0;
      const shown = items.get(name);
      const moments = Array.from({ length: this.#version - floor + 1 }, (_, n) => floor + n);
      const true_ = moments.find((moment) => {
        const was = this.#at(name, moment);
        return shown === undefined ? was?.exists !== true : was?.exists && was.version === shown;
      });
      assert.ok(true_ !== undefined, `${name} shows ${shown}, which was not true since ${floor}`);
      this.#floors.set(name, true_);
    }
  }
}

const steps = {
  put: (collection: FakeCollection, name: Name) => void collection.write(name, true),
  delete: (collection: FakeCollection, name: Name) => void collection.write(name, false),
  own: (collection: FakeCollection, name: Name) => collection.own(name),
  reply: (collection: FakeCollection) => collection.reply(),
  deliver: (collection: FakeCollection) => collection.deliver(),
  list: (collection: FakeCollection) => collection.list(),
  page: (collection: FakeCollection) => collection.page(),
  break: (collection: FakeCollection) => collection.break(),
  restore: (collection: FakeCollection) => collection.restore(),
};
type Step = keyof typeof steps;
const often: readonly Step[] = [
  "put",
  "own",
  "reply",
  "deliver",
  "deliver",
  "list",
  "page",
  "page",
];
const lives = fc.array(
  fc.tuple(
    fc.constantFrom(...often, ...often, ...(Object.keys(steps) as Step[])),
    fc.constantFrom(...names),
  ),
  { minLength: 1, maxLength: 80 },
);

test("shows only states that were true, never older than our own writes, and never goes back", () => {
  let rounds = 0;
  fc.assert(
    fc.property(lives, (life) => {
      const collection = new FakeCollection();
      for (const [step, name] of life) {
        steps[step](collection, name);
        collection.look();
      }
      rounds += collection.rounds;
    }),
    { numRuns: 5000 },
  );
  assert.ok(rounds > 20_000, `the view was hardly ever synced: ${rounds}`);
});

test("shows the current state once it has received everything, whatever happened before", () => {
  fc.assert(
    fc.property(lives, (life) => {
      const collection = new FakeCollection();
      for (const [step, name] of life) steps[step](collection, name);
      collection.catchUp();
      assert.deepEqual(collection.informer.view.items, collection.truth);
    }),
    { numRuns: 2000 },
  );
});

const at = (name: string, version: string, isLabelled = true) => ({
  metadata: { name, resourceVersion: version, labels: isLabelled ? { wanted: "yes" } : {} },
});

test("leaves out objects that need not be kept, even an object that was kept before", () => {
  const informer = new CollectionInformer(({ metadata }) =>
    metadata?.labels?.["wanted"] === undefined ? undefined : metadata.resourceVersion,
  );
  informer.begins();
  informer.page([at("b", "6", false), at("a", "5"), at("c", "7", false)]);
  informer.page([at("d", "8", false), at("e", "9")]);
  informer.listed("10");
  assert.deepEqual(Object.fromEntries(informer.view.items), { a: "5", e: "9" });
  informer.wrote(at("e", "11", false));
  informer.received(at("a", "11", false), "11", false);
  informer.received(at("b", "12"), "12", false);
  assert.deepEqual([...informer.view.items], [["b", "12"]]);
});

test("leaves out objects for which it has no room, and counts them until the next list", () => {
  const informer = new CollectionInformer(({ metadata }) => metadata?.resourceVersion, { most: 1 });
  const shows = (cut: number, ...items: readonly (readonly [string, string])[]) =>
    assert.deepEqual([informer.cut, ...informer.view.items], [cut, ...items]);
  for (const objects of [[at("a", "5"), at("b", "6"), at("c", "7")], [at("a", "5")]]) {
    informer.begins();
    informer.page(objects);
    informer.listed("10");
    shows(objects.length - 1, ["a", "5"]);
  }
  informer.received(at("b", "11"), "11", true);
  informer.received(at("a", "12"), "12", false);
  shows(0, ["a", "12"]);
  informer.received(at("b", "13"), "13", false);
  shows(1, ["a", "12"]);
  informer.received(at("a", "14"), "14", true);
  informer.received(at("b", "15"), "15", false);
  shows(1, ["b", "15"]);
});

test("keeps a view unchanged after it was taken", () => {
  const informer = new CollectionInformer(({ metadata }) => metadata?.resourceVersion);
  assert.deepEqual(informer.view, { synced: false, listed: false, items: new Map() });
  informer.begins();
  informer.page([at("a", "5")]);
  assert.equal(informer.view.synced, false, "shows no view of half a list");
  informer.listed("10");
  const { view } = informer;
  informer.received(at("a", "11"), "11", true);
  assert.deepEqual(view, { synced: true, listed: true, items: new Map([["a", "5"]]) });
  informer.lost();
  assert.deepEqual([informer.view.synced, informer.view.listed], [false, true]);
});

test("reports an event as a change only if the kept part differs", () => {
  const informer = new CollectionInformer(({ metadata }) => ({ labels: metadata?.labels }));
  informer.begins();
  informer.page([at("a", "5")]);
  informer.listed("10");
  assert.equal(informer.received(at("a", "11"), "11", false), false);
  assert.equal(informer.received(at("a", "12", false), "12", false), true);
  informer.wrote(at("a", "13"));
  assert.equal(informer.received(at("a", "13"), "13", false), false, "our own write");
  assert.equal(informer.received(at("b", "14"), "14", false), true, "a new object");
  assert.equal(informer.received(at("b", "15"), "15", true), true, "a deleted object");
});

/**
 * The laws of an informer, against a fake API server that keeps one object's whole history. Writes,
 * late events, breaks, lists and restores of etcd come in any order. An informer shows only states
 * that were true. It never shows a state from before our last write, and never goes back to an
 * older state.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { KubernetesObject } from "@kubernetes/client-node";
import { Informer } from "./informer.ts";

type Object = KubernetesObject | undefined;
type Entry = Readonly<{ version: number; object: Object }>;

/** One object in etcd, a watch that can lag, and a list whose answer can be late. */
class FakeObject {
  readonly informer = new Informer();
  #version = 10;
  #uid = 0;
  history: Entry[] = [{ version: 10, object: undefined }];
  #undelivered: Entry[] = [];
  #listing: (Entry & Readonly<{ asked: number }>) | undefined;
  watched = false;
  /**
   * The lowest version that the informer is allowed to show: that of our last write, or of the
   * state that it showed last.
   */
  floor = 0;

  get now(): Object {
    return this.history.at(-1)?.object;
  }

  /** Another client creates, changes or deletes the object. */
  write(kind: "put" | "delete"): Object {
    if (kind === "delete" && this.now === undefined) return undefined;
    if (kind === "put" && this.now === undefined) this.#uid++;
    this.#version++;
    const metadata = { uid: String(this.#uid), resourceVersion: String(this.#version) };
    const entry = { version: this.#version, object: kind === "put" ? { metadata } : undefined };
    this.history.push(entry);
    if (this.watched || this.#listing !== undefined) this.#undelivered.push(entry);
    return entry.object;
  }

  /** We write; the reply comes, or the connection breaks after the write. */
  own(kind: "put" | "delete", reply: boolean): void {
    const written = this.write(kind);
    if (written !== undefined && reply) this.informer.wrote(written);
    else this.informer.doubt();
    this.floor = this.#version;
  }

  deliver(): void {
    const next = this.watched ? this.#undelivered.shift() : undefined;
    if (next !== undefined) this.informer.received(next.object, String(next.version));
  }

  break(): void {
    this.watched = false;
    this.#undelivered = [];
    this.#listing = undefined;
    this.informer.lost();
  }

  askList(): void {
    if (this.watched || this.#listing !== undefined) return;
    this.#listing = { version: this.#version, object: this.now, asked: this.informer.doubts };
    this.#undelivered = [];
  }

  answerList(): void {
    if (this.#listing === undefined) return;
    const { object, version, asked } = this.#listing;
    this.informer.listed(object, String(version), asked);
    this.#listing = undefined;
    this.watched = true;
  }

  get(): void {
    const { shown, doubts } = this.informer;
    if (shown === "list") this.informer.relisted(this.now, String(this.#version), doubts);
  }

  /** etcd comes back from a backup: versions go back, and every watch breaks. */
  restore(): void {
    this.break();
    this.history = this.history.slice(0, Math.max(1, this.history.length - 3));
    this.#version = this.history.at(-1)?.version ?? 10;
    this.floor = 0;
  }
}

const steps = {
  put: (fake: FakeObject) => void fake.write("put"),
  delete: (fake: FakeObject) => void fake.write("delete"),
  "own put": (fake: FakeObject) => fake.own("put", true),
  "own put, no reply": (fake: FakeObject) => fake.own("put", false),
  "own delete": (fake: FakeObject) => fake.own("delete", false),
  deliver: (fake: FakeObject) => fake.deliver(),
  break: (fake: FakeObject) => fake.break(),
  "ask list": (fake: FakeObject) => fake.askList(),
  "answer list": (fake: FakeObject) => fake.answerList(),
  get: (fake: FakeObject) => fake.get(),
  restore: (fake: FakeObject) => fake.restore(),
};
type Step = keyof typeof steps;
const often: readonly Step[] = [
  "put",
  "own put",
  "deliver",
  "deliver",
  "ask list",
  "answer list",
  "answer list",
  "get",
];
const everything = fc.constantFrom(...often, ...(Object.keys(steps) as Step[]));
const lives = fc.array(everything, { minLength: 1, maxLength: 60 });

function shownBy({ shown }: Informer) {
  return typeof shown === "string" ? shown : { object: shown.object };
}

/** The last version at which the history contains this object. */
function versionOf(fake: FakeObject, object: Object): number | undefined {
  return fake.history.findLast((entry) => entry.object === object)?.version;
}

test("shows only states that were true, never older than our own write, and never goes back", () => {
  let shownTimes = 0;
  fc.assert(
    fc.property(lives, (life) => {
      const fake = new FakeObject();
      for (const step of life) {
        steps[step](fake);
        const { shown } = fake.informer;
        if (typeof shown === "string") continue;
        shownTimes++;
        assert.ok(fake.watched, "an informer without a watch answers");
        const version = versionOf(fake, shown.object);
        assert.ok(version !== undefined, "it was never true");
        assert.ok(
          version >= fake.floor,
          `it was true at ${version}, but the floor is ${fake.floor}`,
        );
        if (shown.object !== undefined) fake.floor = version;
      }
    }),
    { numRuns: 20_000 },
  );
  assert.ok(shownTimes > 20_000, `it hardly ever answered: ${shownTimes}`);
});

test("after a list, all later events and another list, answers with the current state", () => {
  fc.assert(
    fc.property(lives, (life) => {
      const fake = new FakeObject();
      for (const step of life) steps[step](fake);
      fake.askList();
      fake.answerList();
      for (let event = 0; event < life.length; event++) fake.deliver();
      fake.get();
      assert.deepEqual(shownBy(fake.informer), { object: fake.now });
    }),
    { numRuns: 5000 },
  );
});

test("a list shows the results only of writes that were sent before its request, with or without a watch", () => {
  fc.assert(
    fc.property(lives, (life) => {
      const fake = new FakeObject();
      for (const step of life) steps[step](fake);
      fake.break();
      fake.informer.doubt();
      assert.equal(fake.informer.doubted, true);
      fake.askList();
      fake.answerList();
      assert.equal(fake.informer.doubted, false);
      fake.break();
      fake.askList();
      fake.informer.doubt();
      fake.answerList();
      assert.equal(fake.informer.doubted, true);
      assert.equal(fake.informer.shown, "list");
    }),
    { numRuns: 2000 },
  );
});

const at = (version: string, uid = "1") => ({ metadata: { uid, resourceVersion: version } });

test("compares versions as numbers, not as text: 100 is later than 99", () => {
  const informer = new Informer();
  informer.listed(at("99"), "99");
  informer.wrote(at("100"));
  informer.received(at("99"), "99");
  assert.deepEqual(shownBy(informer), { object: at("100") });
});

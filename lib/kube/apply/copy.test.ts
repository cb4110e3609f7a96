/** The law of a copy, for random histories with another client and with lost answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import {
  copyPatch,
  copyStep,
  desiredOf,
  isWrite,
  liveCopy,
  writeFailure,
  type CopyStep,
  type Declared,
  type LiveCopy,
} from "./copy.ts";
import { ChangedByAdmission, place } from "./place.ts";

const collection = secretsIn("default");
const path = `${collection}/one`;
const how = { manager: "ours", collection };
const owner = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "origin",
  uid: "7",
  blockOwnerDeletion: true,
} as const;
const declared = (data: Record<string, string>, more: object = {}): Declared => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "one",
    namespace: "default",
    labels: { "example.com/by": "us" },
    annotations: { "example.com/mark": "us" },
    ownerReferences: [owner],
  },
  type: "Opaque",
  data,
  ...more,
});

type Secret = Parameters<typeof liveCopy>[0];
const isOurs = ({ metadata }: Secret): boolean =>
  metadata?.annotations?.["example.com/mark"] === "us";

/** One copy in one cluster, with another client that has all rights there. */
class History {
  readonly #api = new FakeApi();
  readonly #others = directly(this.#api, "others");
  readonly #ours = directly(this.#api, "ours");
  /** The foreign object, as its author stored it. */
  #foreign: Secret | undefined;
  #isLost = false;
  /** The version that our client has read. */
  #read: string | undefined;
  #beforeWrite: (() => Promise<void>) | undefined;
  #data: Record<string, string> = { a: "MQ==" };

  get live(): Secret | undefined {
    return this.#api.object<Secret>(path);
  }

  async #edit(more: object): Promise<void> {
    const { uid = "", resourceVersion = "" } = this.live?.metadata ?? {};
    const { metadata = {}, ...fields } = more as { metadata?: object };
    const patch = { ...fields, metadata: { ...metadata, uid, resourceVersion } };
    if (this.live === undefined || !isOurs(this.live)) return;
    await this.#others.patch(path, patch).catch((error: ApiError) => {
      assert.equal(error.status, 422, "only an immutable field can refuse it");
    });
  }

  async #delete(): Promise<void> {
    const uid = this.live?.metadata?.uid;
    if (uid !== undefined) await this.#others.remove(path, uid);
    if (this.live === undefined) this.#foreign = undefined;
  }

  /** What another client does, or what happens to our next write. */
  readonly events: Readonly<Record<string, () => void | Promise<void>>> = {
    runs: () => this.run(),
    "another content is declared": () => void (this.#data = { b: "Mg==" }),
    "a value changes": () => this.#edit({ data: { a: "eA==" } }),
    "a key is added": () => this.#edit({ data: { x: "eA==" } }),
    "our label goes": () => this.#edit({ metadata: { labels: { "example.com/by": null } } }),
    "our owner goes": () => this.#edit({ metadata: { ownerReferences: null } }),
    "it becomes immutable": () => this.#edit({ immutable: true }),
    "a finalizer holds it": () => this.#edit({ metadata: { finalizers: ["example.com/x"] } }),
    "no finalizer holds it": () => this.#edit({ metadata: { finalizers: [] } }),
    "it is deleted": () => this.#delete(),
    "another object takes its name": async () => {
      await this.#delete();
      if (this.live !== undefined) return;
      const metadata = { name: "one", namespace: "default" };
      const body = { apiVersion: "v1", kind: "Secret", metadata, data: { theirs: "eA==" } };
      this.#foreign = await this.#others.create<Secret>(collection, body);
    },
    "the next answer is lost": () => void (this.#isLost = true),
    "another client deletes first": () =>
      void (this.#beforeWrite = async () => await this.#delete()),
    "another client writes first": () =>
      void (this.#beforeWrite = async () => await this.#edit({ data: { y: "eA==" } })),
  };

  /** Our client, whose answers can be lost. */
  get #client(): Cluster {
    const write = async <T>(send: () => Promise<T>): Promise<T> => {
      await this.#beforeWrite?.();
      this.#beforeWrite = undefined;
      const reply = await send();
      if (!this.#isLost) return reply;
      this.#isLost = false;
      throw new ApiError({ status: 0, reason: "Lost", method: "PATCH", path });
    };
    return {
      ...this.#ours,
      apply: async <T>(...args: Parameters<Cluster["apply"]>) =>
        await write(async () => await this.#ours.apply<T>(...args)),
      patch: async <T>(...args: Parameters<Cluster["patch"]>) =>
        await write(async () => await this.#ours.patch<T>(...args)),
      remove: async (...args) =>
        await write(async () => {
          const { resourceVersion } = this.live?.metadata ?? {};
          await this.#ours.remove(...args);
          assert.ok([undefined, this.#read].includes(resourceVersion), "a change was not seen");
        }),
    };
  }

  async #step(take: (live: LiveCopy | undefined, step: CopyStep) => Promise<unknown>) {
    const live = this.live && liveCopy(this.live);
    this.#read = live?.metadata?.resourceVersion;
    const step = copyStep(live, this.desired, live !== undefined && isOurs(live));
    await take(live, step).catch((error: unknown) => {
      const failure = error instanceof ApiError ? writeFailure(error) : undefined;
      assert.ok(failure === "away" || failure === "conflict", String(error));
    });
  }

  get desired() {
    return desiredOf(declared(this.#data));
  }

  async run(): Promise<void> {
    await this.#step(
      async (live, step) =>
        isWrite(step) && (await place(this.#client, step, { ...how, live, desired: this.desired })),
    );
  }

  async remove(): Promise<void> {
    await this.#step(async (live, step) => {
      const { uid = "", resourceVersion } = live?.metadata ?? {};
      if (live !== undefined && step !== "foreign" && step !== "wait")
        await this.#client.remove(path, uid, resourceVersion);
    });
  }

  /** The other client is done, and releases what it holds. */
  async settle(runs: () => Promise<void>): Promise<void> {
    for (let run = 0; run < 6; run += 1) {
      await this.#edit({ metadata: { finalizers: [] } });
      await runs();
    }
  }

  judge(): void {
    if (this.#foreign !== undefined) return assert.deepEqual(this.live, this.#foreign);
    const live = this.live ?? assert.fail("it does not exist");
    assert.deepEqual([live.data, live.type], [this.#data, "Opaque"]);
    assert.partialDeepStrictEqual(live.metadata, declared({}).metadata);
  }

  judgeRemoved(): void {
    assert.deepEqual(this.live, this.#foreign);
  }
}

const events = fc.array(fc.constantFrom(...Object.keys(new History().events)), { maxLength: 12 });

test("law: what is placed is what was declared, a foreign object stays, and after the removal nothing of ours is left", async () => {
  await fc.assert(
    fc.asyncProperty(events, async (names) => {
      const history = new History();
      for (const name of names) await history.events[name]?.();
      await history.settle(() => history.run());
      history.judge();
      await history.settle(() => history.remove());
      history.judgeRemoved();
    }),
    { numRuns: 300 },
  );
});

test("law: writes nothing while the object is as declared, whatever others add to its metadata", async () => {
  const history = new History();
  await history.run();
  const { metadata, ...rest } = history.live ?? assert.fail("it does not exist");
  const labels = { ...metadata?.labels, theirs: "x" };
  const live = liveCopy({ ...rest, metadata: { ...metadata, labels, finalizers: ["f"] } });
  assert.equal(copyStep(live, history.desired, true), "nothing");
});

const live = (more: object = {}): LiveCopy => liveCopy({ ...declared({ a: "MQ==" }), ...more });
const held = { ...declared({}).metadata, deletionTimestamp: new Date() };
const keys = (length: number) =>
  Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, ""]));
const steps: readonly (readonly [
  what: string,
  live: LiveCopy | undefined,
  more: object,
  step: CopyStep,
])[] = [
  ["nothing exists", undefined, {}, "create"],
  ["it is as declared", live(), {}, "nothing"],
  ["it should be immutable", live(), { immutable: true }, "update"],
  ["it is immutable as declared", live({ immutable: true }), { immutable: true }, "nothing"],
  ["another client made it immutable", live({ immutable: true }), {}, "nothing"],
  ["it is immutable with other content", live({ immutable: true, data: {} }), {}, "recreate"],
  ["it is immutable and lost its owner", live({ immutable: true, metadata: {} }), {}, "update"],
  ["a finalizer holds it", live({ metadata: held }), {}, "wait"],
  ["a finalizer holds it with other content", live({ metadata: held, data: {} }), {}, "update"],
  [
    "a finalizer holds it with another type",
    live({ metadata: held, type: "kubernetes.io/tls" }),
    {},
    "wait",
  ],
  ["it has another type", live({ type: "kubernetes.io/tls" }), {}, "recreate"],
  ["another client added a key", live({ data: { a: "MQ==", b: "" } }), {}, "update"],
  ["it has as many keys as we can name", live({ data: keys(100) }), {}, "update"],
  ["it has more keys than we can name", live({ data: keys(101) }), {}, "recreate"],
  ["it has stringData in addition", live({ stringData: { b: "x" } }), {}, "update"],
];
for (const [what, copy, more, step] of steps)
  test(`${what}: ${step}`, () => {
    assert.equal(copyStep(copy, desiredOf(declared({ a: "MQ==" }, more)), true), step);
  });

test("keeps owners and finalizers of others, and removes their content", () => {
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "9" };
  const ownerReferences = [{ ...owner, blockOwnerDeletion: false }, other];
  const metadata = { uid: "u", resourceVersion: "7", ownerReferences, finalizers: ["f"] };
  const copy = live({ metadata, data: { b: "eA==" } });
  const patch = copyPatch(copy, desiredOf(declared({ a: "MQ==" })));
  assert.deepEqual([patch.data, patch.stringData], [{ b: null, a: "MQ==" }, null]);
  assert.deepEqual(patch.metadata.ownerReferences, [other, owner]);
  assert.deepEqual([patch.metadata.uid, patch.metadata.resourceVersion], ["u", "7"]);
  assert.ok(!("finalizers" in patch.metadata));
});

test("reports that admission changes the object", async () => {
  const api = new FakeApi();
  const cluster = directly(api, "ours");
  const admitted: Cluster = {
    ...cluster,
    apply: async (where, body, options) =>
      await cluster.apply(where, { ...body, data: { a: "eA==" } }, options),
  };
  const desired = desiredOf(declared({ a: "MQ==" }));
  const write = { ...how, live: undefined, desired };
  await assert.rejects(place(admitted, "create", write), ChangedByAdmission);
});

for (const [status, isDenied, failure] of [
  [409, false, "conflict"],
  [401, false, "denied"],
  [0, false, "away"],
  [408, false, "away"],
  [500, false, "away"],
  [503, false, "away"],
  [429, false, "away"],
  [403, false, "refused"],
  [404, false, "refused"],
  [400, false, "invalid"],
  [422, true, "refused"],
  [422, false, "invalid"],
  [413, false, "invalid"],
] as const)
  test(`takes ${status}${isDenied ? " by admission" : ""} as ${failure}`, () => {
    const error = new ApiError({ status, reason: "x", method: "PATCH", path, denied: isDenied });
    assert.equal(writeFailure(error), failure);
  });

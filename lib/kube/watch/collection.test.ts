/**
 * Follows a collection of pods of a fake API server in memory, by watches that end in every way.
 */
import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { KubernetesObject, V1Pod } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { Refusal } from "#test/harness/api/protocol.ts";
import { directly } from "#test/harness/api/direct.ts";
import { until } from "#test/cluster/await.ts";
import { followCollection, watchCollection } from "./collection.ts";
import { CollectionInformer } from "./informer.ts";

const query = { labelSelector: "name=agent" };

const pod = (name: string, label = "agent") => ({
  kind: "Pod",
  metadata: { name, labels: { name: label } },
  spec: { containers: [{ name: "agent", image: "i" }] },
});

test("follows the pods of a label through creations, changes, breaks and a compaction", async () => {
  const api = new FakeApi();
  const live = directly(api, "test");
  for (const name of ["a", "b"]) await live.create(collections.pods, pod(name));
  await live.create(collections.pods, pod("other", "other"));
  let cut = new AbortController();
  const cluster: Cluster = {
    ...live,
    stream: (path, asked, signal, line) =>
      live.stream(
        path,
        asked,
        AbortSignal.any([signal, (cut = new AbortController()).signal]),
        line,
      ),
  };
  const informer = new CollectionInformer(
    ({ metadata }) => metadata?.annotations?.["revision"] ?? "none",
  );
  const stop = new AbortController();
  const failures: string[] = [];
  const following = followCollection({
    cluster,
    path: collections.pods,
    query,
    informer,
    hint: () => {},
    failed: ({ message }) => void failures.push(message),
    signal: stop.signal,
  });
  const shows = (expected: object) =>
    until(`the view shows ${JSON.stringify(expected)}`, () => {
      const { synced, items } = informer.view;
      return synced && JSON.stringify(Object.fromEntries(items)) === JSON.stringify(expected);
    });
  const annotate = (name: string, revision: string) =>
    live.apply(
      `${collections.pods}/${name}`,
      { kind: "Pod", metadata: { annotations: { revision } } },
      { manager: "test", force: true },
    );
  const remove = async (name: string) => {
    const { metadata } = (await live.get<V1Pod>(`${collections.pods}/${name}`)) ?? {};
    await live.remove(`${collections.pods}/${name}`, metadata?.uid ?? "");
  };
  await shows({ a: "none", b: "none" });
  await annotate("a", "7");
  await live.create(collections.pods, pod("c"));
  await remove("b");
  await shows({ a: "7", c: "none" });
  // The watch breaks, and what happens meanwhile is compacted away.
  cut.abort();
  await annotate("c", "8");
  await remove("a");
  api.store.compact();
  await shows({ c: "8" });
  assert.equal(failures.length, 1, failures.join("\n"));
  const lists = api.asked.filter(({ verb }) => verb === "list").length;
  assert.equal(lists, 2);
  stop.abort();
  await following;
  assert.equal(informer.view.synced, false);
});

test("follows Nodes as metadata, and gives a hint only when a kept part changes", async () => {
  const api = new FakeApi();
  const cluster = directly(api, "test");
  const node = (labels: object) => ({ kind: "Node", metadata: { name: "a", labels } });
  await cluster.create(collections.nodes, node({}));
  const seen: KubernetesObject[] = [];
  const informer = new CollectionInformer((object) => {
    seen.push(object);
    return object.metadata?.labels?.["role"] ?? "none";
  });
  const stop = new AbortController();
  let hints = 0;
  const following = followCollection({
    cluster,
    path: collections.nodes,
    query: {},
    as: "metadata",
    informer,
    hint: () => void (hints += 1),
    failed: (error) => assert.fail(error),
    signal: stop.signal,
  });
  const apply = (labels: object) =>
    cluster.apply(`${collections.nodes}/a`, node(labels), { manager: "test", force: true });
  const shows = (role: string) =>
    until(`the role is ${role}`, () => informer.view.items.get("a") === role);
  await shows("none");
  await apply({ role: "none", other: "1" });
  await until("the event has come", () => seen.length === 2);
  assert.equal(hints, 1, "only the list");
  await apply({ role: "worker", other: "1" });
  await shows("worker");
  assert.equal(hints, 2);
  assert.deepEqual(
    seen.map(({ kind }) => kind),
    ["PartialObjectMetadata", "PartialObjectMetadata", "PartialObjectMetadata"],
  );
  stop.abort();
  await following;
});

const line = (type: string, version: string) =>
  JSON.stringify({ type, object: { metadata: { name: "a", resourceVersion: version } } });
const expired = JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410 } });
const refused = (status: number) =>
  new ApiError({ status, reason: "No", method: "WATCH", path: "" });

/** One watch's behaviour: lines, then a number of seconds, then a clean end or an error. */
type Ending = Readonly<{ lines?: readonly string[]; seconds?: number; error?: Error }>;

/** The requests, if the first watch behaves like this. The lists have versions 100, 200, … */
async function followed(t: TestContext, ending: Ending): Promise<string[]> {
  t.mock.method(Math, "random", () => 0);
  let now = performance.now();
  t.mock.method(performance, "now", () => now);
  const reported: string[] = [];
  const stop = new AbortController();
  const informer = new CollectionInformer(({ metadata }) => metadata?.resourceVersion);
  let lists = 0;
  let watches = 0;
  const cluster = {
    async pages(_: string, __: object, each: (items: object[], version: string) => void) {
      lists += 1;
      reported.push("list");
      each([{ metadata: { name: "a", resourceVersion: "1" } }], String(lists * 100));
    },
    async stream(
      _: string,
      asked: Record<string, string>,
      __: AbortSignal,
      received: (line: string) => void,
    ) {
      const { synced, items } = informer.view;
      reported.push(`watch from ${asked["resourceVersion"]}, ${synced}, ${items.get("a")}`);
      watches += 1;
      if (watches > 1) return stop.abort();
      for (const text of ending.lines ?? []) received(text);
      now += (ending.seconds ?? 0) * 1000;
      if (ending.error !== undefined) throw ending.error;
    },
  } as unknown as Cluster;
  await followCollection({
    cluster,
    path: "/pods",
    query,
    informer,
    hint: () => {},
    failed: ({ message }) => void reported.push(`${message}, ${informer.view.synced}`),
    signal: stop.signal,
  });
  return reported;
}

const begun = ["list", "watch from 100, true, 1"];
const listed = ["list", "watch from 200, true, 1"];
const rows: readonly (readonly [what: string, ending: Ending, then: readonly string[]])[] = [
  [
    "continues from the last bookmark after a watch that lasted its full time",
    { lines: [line("MODIFIED", "101"), line("BOOKMARK", "150")], seconds: 240 },
    ["watch from 150, true, 101"],
  ],
  ["lists after a watch that the server ended early", { seconds: 20 }, listed],
  ["lists after a version that was compacted away", { lines: [expired], seconds: 240 }, listed],
  ["lists after a 429 for a watch", { error: refused(429) }, ["WATCH : 429 No, true", ...listed]],
  [
    "lists after a watch that broke, however long it had lasted",
    { error: refused(0), seconds: 240 },
    ["WATCH : no answer No, true", ...listed],
  ],
  [
    "lists after half a line",
    { lines: ['{"type":"MODI'], seconds: 240 },
    ["a line of the watch is not JSON, true", ...listed],
  ],
];
for (const [what, ending, then] of rows)
  test(what, async (t) => {
    assert.deepEqual(await followed(t, ending), [...begun, ...then]);
  });

test("reports an object that is too large, and follows the others", async () => {
  const live = directly(new FakeApi(), "test");
  for (const name of ["a", "b"])
    await live.create(collections.pods, {
      ...pod(name),
      spec: { text: "x".repeat(name === "a" ? 9 * 1024 * 1024 : 1) },
    });
  const informer = new CollectionInformer(({ metadata }) => metadata?.name);
  const stop = new AbortController();
  const failures: string[] = [];
  await followCollection({
    cluster: live,
    path: collections.pods,
    query,
    informer,
    hint: () => stop.abort(),
    failed: ({ message }) => void failures.push(message),
    signal: stop.signal,
  });
  assert.deepEqual([...informer.view.items.keys()], ["b"]);
  assert.match(failures.join("\n"), /^GET \S+\/pods: no answer TooLarge: a alone is larger/);
});

/** The part of a 10 kB pod that a rollout needs. */
const rolloutPartOf = ({
  metadata,
  spec,
}: KubernetesObject & { spec?: { nodeName?: string } }) => ({
  uid: metadata?.uid,
  resourceVersion: metadata?.resourceVersion,
  node: spec?.nodeName,
  revision: metadata?.annotations?.["globalpullsecret.io/revision"],
});

test("keeps only the needed parts of 5,000 pods of 10 kB", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const raw: WeakRef<object>[] = [];
  let bytes = 0;
  const cluster = {
    async pages(_: string, __: object, each: (items: KubernetesObject[], version: string) => void) {
      for (let page = 0; page < 10; page += 1) {
        const texts = Array.from({ length: 500 }, (___, n) => podText(page * 500 + n));
        const items = texts.map((text) => JSON.parse(text) as KubernetesObject);
        bytes += texts.reduce((sum, { length }) => sum + length, 0);
        raw.push(...items.map((item) => new WeakRef(item)));
        each(items, "1");
      }
    },
    async stream() {
      stop.abort();
    },
  } as unknown as Cluster;
  const stop = new AbortController();
  const informer = new CollectionInformer(rolloutPartOf);
  await followCollection({
    cluster,
    path: "/pods",
    query,
    informer,
    hint: () => {},
    failed: (error) => assert.fail(error),
    signal: stop.signal,
  });
  // A new WeakRef keeps its object until the next turn of the event loop.
  await setImmediate();
  collectGarbage();
  const { items } = informer.view;
  assert.equal(items.size, 5000);
  assert.ok(bytes > 50_000_000, `${bytes} bytes were read`);
  const held = raw.filter((reference) => reference.deref() !== undefined).length;
  assert.equal(held, 0, `${held} pods are held as they were read`);
  const size = JSON.stringify([...items]).length;
  assert.ok(size < 5000 * 200, `${size} bytes are kept`);
});

function podText(n: number): string {
  const name = `agent-${n}`;
  const annotations = { "globalpullsecret.io/revision": "7" };
  const metadata = { name, uid: `uid-${n}`, resourceVersion: String(n), annotations };
  const env = Array.from({ length: 100 }, (_, at) => ({
    name: `VARIABLE_${at}`,
    value: "v".repeat(70),
  }));
  return JSON.stringify({ metadata, spec: { nodeName: `node-${n}`, containers: [{ env }] } });
}

const noRights: readonly (readonly [what: string, verbs: readonly string[]])[] = [
  ["watch", ["watch"]],
  ["list or watch", ["list", "watch"]],
];
for (const [what, verbs] of noRights)
  test(`without the right to ${what}, shows its last error until a watch is alive`, async (t) => {
    const api = new FakeApi();
    const live = directly(api, "test");
    api.refuses = (_, verb) =>
      verbs.includes(verb) ? new Refusal(403, "Forbidden", "may not") : undefined;
    const stop = new AbortController();
    t.after(() => stop.abort());
    const informer = new CollectionInformer(rolloutPartOf);
    const errors: Error[] = [];
    const following = followCollection({
      cluster: live,
      path: collections.pods,
      query,
      informer,
      hint: () => {},
      failed: (error) => void errors.push(error),
      signal: stop.signal,
    });
    await until("it is refused twice", () => errors.length === 2);
    // The error stays even after a list that succeeded in between.
    assert.match(informer.view.failure?.message ?? "", /: 403 /);
    assert.equal(informer.view.failure, errors[1]);
    api.refuses = () => undefined;
    const isWatched = () =>
      api.asked.some(({ verb, status }) => verb === "watch" && status === 200);
    await until("it is watched again", isWatched);
    await live.create(collections.pods, pod("a"));
    await until("the watch is alive", () => informer.view.failure === undefined);
    stop.abort();
    await following;
  });

test("hints at each change of a collection, and after each list", async () => {
  const live = directly(new FakeApi(), "test");
  const stop = new AbortController();
  let hints = 0;
  const following = watchCollection({
    cluster: live,
    path: collections.pods,
    query,
    hint: () => (hints += 1),
    failed: (error) => assert.fail(error),
    signal: stop.signal,
  });
  await until("the list is a hint", () => hints === 1);
  await live.create(collections.pods, pod("a"));
  await until("the change is a hint", () => hints === 2);
  await live.create(collections.pods, pod("b", "other"));
  await live.create(collections.pods, pod("c"));
  await until("the other change is a hint", () => hints === 3);
  stop.abort();
  await following;
});

for (const [what, follows] of [
  ["its first object", watchCollection],
  [
    "its pages",
    (options) => followCollection({ ...options, informer: new CollectionInformer(rolloutPartOf) }),
  ],
] as readonly (readonly [string, typeof watchCollection])[])
  test(`ends while a collection is asked for ${what}, once the signal aborts`, async () => {
    const stop = new AbortController();
    let asked = 0;
    const unanswered = async ({ signal }: { signal?: AbortSignal } = {}) => {
      asked += 1;
      assert.ok(signal !== undefined);
      stop.abort();
      signal.throwIfAborted();
    };
    const cluster = {
      get: (_: string, options?: object) => unanswered(options),
      pages: (_: string, __: object, ___: unknown, options?: object) => unanswered(options),
    } as unknown as Cluster;
    await follows({
      cluster,
      path: collections.pods,
      query,
      hint: () => assert.fail("nothing is listed"),
      failed: (error) => assert.fail(error),
      signal: stop.signal,
    });
    assert.equal(asked, 1);
  });

test("reports a collection that is not served", async () => {
  const stop = new AbortController();
  const errors: string[] = [];
  await watchCollection({
    cluster: directly(new FakeApi(), "test"),
    path: "/apis/example.io/v1/absent",
    query,
    hint: () => assert.fail("nothing is listed"),
    failed({ message }) {
      errors.push(message);
      stop.abort();
    },
    signal: stop.signal,
  });
  assert.deepEqual(errors, ["/apis/example.io/v1/absent: is not served"]);
});

/**
 * Every way in which a watch ends. The API server is scripted, because a real one ends watches at
 * any time.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "./informer.ts";
import type { Rate } from "#kube/allowance.ts";
import { follow } from "./watch.ts";

const target = {
  collection: "/api/v1/namespaces/kube-system/secrets",
  name: "additional-pull-secret",
};
const object = (version: string) => ({
  kind: "Secret",
  apiVersion: "v1",
  metadata: { resourceVersion: version },
});
const event = (type: string, version: string) => JSON.stringify({ type, object: object(version) });
const expired = JSON.stringify({
  type: "ERROR",
  object: { kind: "Status", code: 410, reason: "Expired" },
});
const refused = (status: number) =>
  new ApiError({ status, reason: "No", method: "WATCH", path: "" });

/** One watch's behaviour: lines, then a clean end. */
type Ending = Readonly<{ lines?: readonly string[] }>;

type Bounds = Readonly<{ events: Rate; bytes: Rate }>;
const plenty = { perSecond: 1e9, atOnce: 1e9 };

/**
 * Follows the object while its watches end like this, then stops. Returns the requests and reports,
 * in order. The lists have versions 100, 200, … Their items have no kind, as with a real API
 * server.
 */
const followed = (...endings: readonly Ending[]): Promise<string[]> => followedAt({}, ...endings);

async function followedAt(
  how: Readonly<{ bounds?: Bounds; longestPause?: number }>,
  ...endings: readonly Ending[]
): Promise<string[]> {
  const reported: string[] = [];
  const stop = new AbortController();
  const informer = new Informer();
  const seen = () => {
    const { shown } = informer;
    return typeof shown === "string" ? "unknown" : (JSON.stringify(shown.object) ?? "gone");
  };
  let lists = 0;
  let watches = 0;
  const cluster = {
    async get() {
      reported.push(`list, ${seen()}`);
      const resourceVersion = String(++lists * 100);
      const items = [{ metadata: { resourceVersion } }];
      return { kind: "SecretList", apiVersion: "v1", metadata: { resourceVersion }, items };
    },
    async stream(
      _path: string,
      query: Record<string, string>,
      _signal: AbortSignal,
      line: (line: string) => void,
    ) {
      reported.push(`watch from ${query["resourceVersion"]}`);
      const { lines = [] } = endings[watches++] ?? {};
      if (watches > endings.length) return stop.abort();
      for (const text of lines) line(text);
    },
  } as unknown as Cluster;
  const hint = () => void reported.push(`hint, ${seen()}`);
  await follow({
    cluster,
    target,
    informer,
    hint,
    failed: ({ message }) => void reported.push(message),
    exceeded: () => void reported.push("exceeded"),
    signal: stop.signal,
    ...how,
  });
  assert.equal(informer.shown, "read", "an informer answers without a watch");
  return reported;
}

const whole = (version: string) => JSON.stringify(object(version));

test("caches a list and each event, then hints, but does neither for a bookmark", async () => {
  const lines = [
    event("MODIFIED", "101"),
    event("BOOKMARK", "150"),
    event("DELETED", "160"),
    event("ADDED", "170"),
  ];
  assert.deepEqual((await followed({ lines })).slice(0, 6), [
    "list, unknown",
    'hint, {"metadata":{"resourceVersion":"100"},"kind":"Secret","apiVersion":"v1"}',
    "watch from 100",
    `hint, ${whole("101")}`,
    "hint, gone",
    `hint, ${whole("170")}`,
  ]);
});

const endings: readonly (readonly [sentence: string, ending: Ending])[] = [
  ["a clean end", {}],
  ["a version that etcd has compacted away (410 in the stream)", { lines: [expired] }],
];
for (const [sentence, ending] of endings) {
  test(`answers nothing after ${sentence} until a list has shown what exists`, async () => {
    const reported = (await followed(ending)).filter((line) => !line.startsWith("hint"));
    assert.deepEqual(reported, [
      "list, unknown",
      "watch from 100",
      "list, unknown",
      "watch from 200",
    ]);
  });
}

const lists = (reported: readonly string[]) => reported.filter((line) => !line.startsWith("hint"));
const hints = (reported: readonly string[]) =>
  reported.filter((line) => line.startsWith("hint")).length;

test("when a watch sends too many events a second, ends it, lists, and starts the next watch without saved allowance", async () => {
  // The watch may send twenty events at once, including bookmarks.
  const lines = Array.from({ length: 5000 }, (_, n) =>
    event(n % 2 === 0 ? "MODIFIED" : "BOOKMARK", String(101 + n)),
  );
  const bounds = { events: { perSecond: 0.001, atOnce: 20 }, bytes: plenty };
  const reported = await followedAt({ bounds, longestPause: 1 }, { lines }, { lines });
  // There is one hint for each of three lists, ten hints of the first watch, and none of the second
  // watch.
  assert.equal(hints(reported), 3 + 10, reported.join("\n"));
  assert.deepEqual(
    lists(reported),
    ["list, unknown", "watch from 100", "exceeded"].concat(
      ["list, unknown", "watch from 200", "exceeded"],
      ["list, unknown", "watch from 300"],
    ),
  );
});

test("when a watch sends too many bytes a second, ends it without parsing another line", async () => {
  const event = (version: string) =>
    JSON.stringify({ type: "MODIFIED", object: { ...object(version), data: "ä".repeat(500) } });
  const eventBytes = Buffer.byteLength(event("101"));
  assert.ok(eventBytes > 1000, "each letter ä counts as one byte");
  const lines = [event("101"), event("102"), event("103"), "no JSON"];
  const bounds = { events: plenty, bytes: { perSecond: 0.001, atOnce: 3 * eventBytes } };
  const reported = await followedAt({ bounds, longestPause: 1 }, { lines });
  assert.equal(hints(reported), 2 + 3, reported.join("\n"));
  assert.deepEqual(lists(reported), [
    "list, unknown",
    "watch from 100",
    "exceeded",
    "list, unknown",
    "watch from 200",
  ]);
});

test("ends a watch that outlives its timeout, without an error, and lists again", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  t.mock.method(performance, "now", () => Date.now());
  t.mock.method(Math, "random", () => 0.999);
  const stop = new AbortController();
  const reported: string[] = [];
  const timeouts: number[] = [];
  const metadata = { resourceVersion: "100" };
  const cluster = {
    async get() {
      reported.push("list");
      return { kind: "SecretList", apiVersion: "v1", metadata, items: [] };
    },
    async stream(_path: string, query: Record<string, string>, signal: AbortSignal) {
      reported.push("watch");
      const ended = new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(refused(0)));
      });
      const seconds = Number(query["timeoutSeconds"]);
      timeouts.push(seconds);
      // By this time, the server should have ended the watch.
      t.mock.timers.tick((seconds + 30) * 1000 - 1);
      if (signal.aborted) reported.push("ended early");
      if (timeouts.length < 2) t.mock.timers.tick(1);
      else stop.abort();
      return await ended;
    },
  } as unknown as Cluster;
  const failed = (error: Error) => void reported.push(error.message);
  const { signal } = stop;
  await follow({ cluster, target, informer: new Informer(), hint: () => {}, failed, signal });
  assert.deepEqual(reported, ["list", "watch", "list", "watch"]);
  // The client's HTTP library ends an answer that is silent for 300 s.
  for (const seconds of timeouts) assert.ok(seconds >= 240 && seconds + 30 < 300);
});

test("ignores a version that is not a number, however long it is", async () => {
  const reported = await followed({ lines: [event("MODIFIED", "9".repeat(100_000))] });
  assert.ok(reported.includes("a resourceVersion is not a number"), reported.join("\n"));
});

test("grows the pauses between watches that end at once", async () => {
  const started = performance.now();
  await followed({}, {}, {});
  // The pauses are 0.5, 1 and 2 s, each multiplied by a random factor of at least 0.5.
  assert.ok(performance.now() - started >= 1750);
});

/** Follows the object with a server that answers the list and sends these lines. */
async function shownBy(
  items: readonly unknown[],
  lines: readonly string[],
  asked: (informer: Informer, signal: AbortSignal | undefined) => void = () => {},
): Promise<Informer["shown"]> {
  const [stop, informer] = [new AbortController(), new Informer()];
  const cluster = {
    async get(_: string, { signal }: { signal?: AbortSignal }) {
      asked(informer, signal);
      return { kind: "SecretList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items };
    },
    async stream(_: string, __: object, ___: AbortSignal, line: (text: string) => void) {
      for (const text of lines) line(text);
      shown = informer.shown;
      stop.abort();
    },
  } as unknown as Cluster;
  let shown: Informer["shown"] = "read";
  await follow({
    cluster,
    target: { ...target, keep: ({ metadata }) => ({ metadata: { ...metadata, labels: {} } }) },
    informer,
    hint: () => {},
    failed: (error) => assert.fail(error),
    signal: stop.signal,
  });
  return shown;
}

const kept = (version: string) => ({
  object: { metadata: { resourceVersion: version, labels: {} } },
});

test("keeps the same part of an object that is listed and of one that is watched", async () => {
  assert.deepEqual(await shownBy([object("1")], []), kept("1"));
  assert.deepEqual(await shownBy([object("1")], [event("MODIFIED", "2")]), kept("2"));
  assert.deepEqual(await shownBy([object("1")], [event("DELETED", "2")]), { object: undefined });
});

test("shows no object if a server lists null", async () =>
  assert.deepEqual(await shownBy([null], []), { object: undefined }));

test("asks for a list with the signal, and needs another list after a doubt while it is under way", async () => {
  const shown = await shownBy([object("1")], [], (informer, signal) => {
    assert.ok(signal !== undefined);
    informer.doubt();
  });
  assert.equal(shown, "list");
});

/**
 * Every way in which a watch ends. The API server is scripted: a real one ends them when it likes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "./informer.ts";
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

/** What one watch does: lines, then a clean end or an error. */
type Ending = Readonly<{ lines?: readonly string[]; error?: Error }>;

/**
 * Follows through these watches, then stops; answers what was asked and told, in order. Lists
 * answer version 100, 200 … and, like a real one, an item that does not say what it is.
 */
async function followed(...endings: readonly Ending[]): Promise<string[]> {
  const told: string[] = [];
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
      told.push(`list, ${seen()}`);
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
      told.push(`watch from ${query["resourceVersion"]}`);
      const { lines = [], error } = endings[watches++] ?? {};
      if (watches > endings.length) return stop.abort();
      for (const one of lines) line(one);
      if (error !== undefined) throw error;
    },
  } as unknown as Cluster;
  const hint = () => void told.push(`hint, ${seen()}`);
  await follow({
    cluster,
    target,
    informer,
    hint,
    failed: ({ message }) => void told.push(message),
    signal: stop.signal,
  });
  assert.equal(informer.shown, "read", "an informer speaks without a watch");
  return told;
}

const whole = (version: string) => JSON.stringify(object(version));

test("a list and each event are cached, then hinted at; a bookmark is neither; a deletion leaves nothing", async () => {
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

const endings: readonly (readonly [sentence: string, ending: Ending, message?: string])[] = [
  ["a clean end", {}],
  ["a version that etcd has compacted away (410 in the stream)", { lines: [expired] }],
  ["410 in the answer itself", { error: refused(410) }, "WATCH : 410 No"],
  ["429", { error: refused(429) }, "WATCH : 429 No"],
  ["no answer", { error: refused(0) }, "WATCH : no answer No"],
  [
    "half a line",
    { lines: ['{"type":"MODI'] },
    "Unterminated string in JSON at position 13 (line 1 column 14)",
  ],
];
for (const [sentence, ending, message] of endings) {
  test(`after ${sentence} nothing is known until a list has said what there is`, async () => {
    const told = (await followed(ending)).filter((line) => !line.startsWith("hint"));
    const failed = message === undefined ? [] : [message];
    assert.deepEqual(told, [
      "list, unknown",
      "watch from 100",
      ...failed,
      "list, unknown",
      "watch from 200",
    ]);
  });
}

test("watches that end at once are no hot loop: the pauses grow", async () => {
  const started = performance.now();
  await followed({}, {}, {});
  // 0.5, 1 and 2 s, each times 0.5 at least.
  assert.ok(performance.now() - started >= 1750);
});

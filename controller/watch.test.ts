/** Every way in which a watch ends. The API server is scripted: a real one ends them when it likes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "./apierror.ts";
import type { Cluster } from "./kube.ts";
import { follow } from "./watch.ts";

const target = { collection: "/api/v1/namespaces/kube-system/secrets", name: "additional-pull-secret" };
const event = (type: string, version: string) =>
  JSON.stringify({ type, object: { metadata: { resourceVersion: version } } });
const expired = JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
const refused = (status: number) => new ApiError({ status, reason: "No", method: "WATCH", path: "" });

/** What one watch does: lines, then a clean end or an error. */
type Ending = Readonly<{ lines?: readonly string[]; error?: Error }>;

/** Follows through these watches, then stops; answers what was asked and told, in order. Lists answer version 100, 200 … */
async function followed(...endings: readonly Ending[]): Promise<string[]> {
  const told: string[] = [];
  const stop = new AbortController();
  let lists = 0;
  let watches = 0;
  const cluster = {
    async get() {
      told.push("list");
      return { metadata: { resourceVersion: String(++lists * 100) } };
    },
    async stream(_path: string, query: Record<string, string>, _signal: AbortSignal, line: (line: string) => void) {
      told.push(`watch from ${query["resourceVersion"]}`);
      const { lines = [], error } = endings[watches++] ?? {};
      if (watches > endings.length) return stop.abort();
      for (const one of lines) line(one);
      if (error !== undefined) throw error;
    },
  } as unknown as Cluster;
  const hint = () => void told.push("hint");
  await follow({ cluster, target, hint, failed: ({ message }) => void told.push(message), signal: stop.signal });
  return told;
}

test("an event is a hint, a bookmark is none, and a watch that ended is resumed from the last of either", async () => {
  const lines = [event("MODIFIED", "101"), event("BOOKMARK", "150")];
  assert.deepEqual(await followed({ lines }), ["list", "hint", "watch from 100", "hint", "watch from 150"]);
});

const relists: readonly (readonly [sentence: string, ending: Ending, message?: string])[] = [
  ["a version that etcd has compacted away (410 in the stream)", { lines: [event("MODIFIED", "101"), expired] }],
  ["410 in the answer itself", { error: refused(410) }, "WATCH : 410 No"],
  ["429", { error: refused(429) }, "WATCH : 429 No"],
  ["no answer", { error: refused(0) }, "WATCH : no answer No"],
  ["half a line", { lines: ['{"type":"MODI'] }, "Unterminated string in JSON at position 13 (line 1 column 14)"],
];
for (const [sentence, ending, message] of relists) {
  test(`after ${sentence} it lists and hints, so that nothing is missed`, async () => {
    const events = ending.lines !== undefined && message === undefined ? ["hint"] : [];
    const told = message === undefined ? [] : [message];
    const before = ["list", "hint", "watch from 100", ...events, ...told];
    assert.deepEqual(await followed(ending), [...before, "list", "hint", "watch from 200"]);
  });
}

test("watches that end at once are no hot loop: the pauses grow", async () => {
  const started = performance.now();
  await followed({}, {}, {});
  // 0.5, 1 and 2 s, each times 0.5 at least.
  assert.ok(performance.now() - started >= 1750);
});

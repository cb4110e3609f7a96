import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { followExtras } from "./extras.ts";

const source = { name: "team-a", secretName: "team-a-pull", priority: 1 };
const secret = { metadata: { name: source.secretName } };
const refusal = (status: number) => new ApiError({ status, reason: "R", method: "GET", path: "/" });

/** Extra sources that cannot be watched. `reads`: the paths that were read. */
function unwatched(answer: () => unknown) {
  const end = new AbortController();
  const reads: string[] = [];
  let seconds = 0;
  const get = async (path: string) => {
    if (path.includes("?")) throw refusal(403);
    reads.push(path);
    return answer();
  };
  const { read } = followExtras({
    live: { get } as unknown as Cluster,
    hint: () => {},
    failed: () => {},
    now: () => new Date(seconds * 1000),
    signal: end.signal,
  });
  const lookup = async (fresh = false) => (await read([source], fresh))[0]?.lookup;
  const pass = (more: number) => (seconds += more);
  return { lookup, reads, pass, [Symbol.dispose]: () => end.abort() };
}

const refuse = (status: number) => () => {
  throw refusal(status);
};
const answers: readonly (readonly [what: string, answer: () => unknown, lookup: unknown])[] = [
  ["exists", () => secret, secret],
  ["is missing", () => undefined, "absent"],
  ["is being deleted", () => ({ metadata: { deletionTimestamp: "2026" } }), "absent"],
  ["must not be read", refuse(403), "forbidden"],
  ["cannot be read with our credential", refuse(401), "unknown"],
  ["is on an API server in trouble", refuse(500), "unknown"],
  ["is on an API server that does not answer", refuse(0), "unknown"],
];
for (const [what, answer, lookup] of answers)
  test(`reads a source whose Secret ${what} and cannot be watched`, async () => {
    using extras = unwatched(answer);
    assert.equal(await extras.lookup(), lookup);
    assert.deepEqual(extras.reads, [`${collections.secrets}/${source.secretName}`]);
  });

test("asks again for an unreadable Secret after ten seconds, but for a readable one at once", async () => {
  let isGranted = false;
  using extras = unwatched(() => (isGranted ? secret : refuse(403)()));
  const lookups = async (fresh: boolean) => [await extras.lookup(fresh), extras.reads.length];
  assert.deepEqual(await lookups(false), ["forbidden", 1]);
  isGranted = true;
  extras.pass(9);
  assert.deepEqual(await lookups(true), ["forbidden", 1]);
  extras.pass(1);
  assert.deepEqual(await lookups(false), [secret, 2]);
  assert.deepEqual(await lookups(true), [secret, 3]);
});

test("watches a Secret only while a source names it", async (t) => {
  const end = new AbortController();
  t.after(() => end.abort());
  const watched: object[] = [];
  const live = {
    get: async () => ({ kind: "SecretList", metadata: { resourceVersion: "1" }, items: [] }),
    async stream(_: string, query: object, signal: AbortSignal) {
      watched.push(query);
      await once(signal, "abort");
      watched.pop();
    },
  } as unknown as Cluster;
  const unused = { hint() {}, failed() {} };
  const { read } = followExtras({ live, now: () => new Date(), signal: end.signal, ...unused });
  for (const [sources, count] of [
    [[source], 1],
    [[], 0],
    [[source], 1],
  ] as const) {
    await read(sources);
    for (let turn = 0; turn < 9; turn += 1) await setImmediate();
    assert.equal(watched.length, count);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Pod } from "@kubernetes/client-node";
import type { Grant } from "#contract/grant.ts";
import { updateRecord } from "./node-state.ts";
import { noMemory, type Memory } from "./facts.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import type { AgentPod } from "./pods.ts";
import { isPodAction, writePods, type PodAction } from "./write.ts";

const pod = (node: string): AgentPod => ({
  name: `pod-of-${node}`,
  uid: `uid-of-${node}`,
  node,
  created: 1,
  resourceVersion: "7",
  isDeleting: false,
  template: "t",
  mode: "Restart",
  grant: undefined,
  ready: { is: true, since: "2026-01-01T00:00:00Z" },
  unreachable: undefined,
  terminationMessage: undefined,
  lastExit: undefined,
  waitingReason: undefined,
  message: undefined,
});
const defaultGrant: Grant = { revision: 7, digest: "d", since: "2026-01-01T00:00:00Z", word: true };
const action = (kind: PodAction["kind"], node: string, grant: Grant = defaultGrant): PodAction => ({
  kind,
  pod: { ...pod(node), isCurrent: true },
  grant,
});
const grants = (...nodes: readonly string[]) => nodes.map((node) => action("grant", node));

type Request = Readonly<{ method: string; path: string; body: unknown }>;

/**
 * A cluster whose answers the test decides. `remembering` sets the memory as a decision would leave
 * it: the pod of each of these nodes occupies a slot, because a grant was sent.
 */
function scripted(answer: (path: string) => unknown = () => undefined) {
  const now = { steady: 50, api: 1_767_225_600.5 };
  const pass = (seconds: number): void => void (now.steady += seconds);
  const requests: Request[] = [];
  const wrote: V1Pod[] = [];
  let [underWay, mostUnderWay] = [0, 0];
  const ask = async (method: string, path: string, body: unknown): Promise<unknown> => {
    requests.push({ method, path, body });
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    try {
      await new Promise((resolve) => setImmediate(resolve));
      const response = answer(path);
      if (response instanceof Error) throw response;
      const { annotations } = (body as V1Pod).metadata ?? {};
      return { metadata: { name: path, resourceVersion: "8", annotations } };
    } finally {
      underWay -= 1;
    }
  };
  const context = {
    cluster: {
      patch: (path: string, body: object) => ask("patch", path, body),
      remove: (path: string, ...body: unknown[]) => ask("remove", path, body),
    } as unknown as Cluster,
    pods: {
      view: { synced: true, items: new Map() },
      wrote: (writtenPod: V1Pod) => wrote.push(writtenPod),
    },
    memory: { grants: noMemory },
    times: () => now,
  } as unknown as Parameters<typeof writePods>[0];
  const remembering = (...nodes: readonly string[]): Memory => ({
    ...noMemory,
    pods: new Map(
      nodes.map((node) => {
        const seen = updateRecord({ ...pod(node), isCurrent: true }, undefined, now);
        const sent = { resourceVersion: "7", at: 50, held: false };
        return [`uid-of-${node}`, { ...seen, holds: true, sent }];
      }),
    ),
  });
  return {
    context,
    requests,
    wrote,
    pass,
    remembering,
    mostUnderWay: () => mostUnderWay,
    seen: (node: string) => context.memory.grants.pods.get(`uid-of-${node}`),
  };
}

const refusal = (status: number, detail = "", reason = "Refused", retryAfterSeconds?: number) =>
  new ApiError({
    status,
    reason,
    method: "PATCH",
    path: "/x",
    detail,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });

test("writes a grant to the version of the pod that was read, and passes the written pod to the informer", async () => {
  const { context, requests, wrote } = scripted();
  await writePods(context, grants("a"));
  const annotations = {
    "globalpullsecret.io/revision": "7",
    "globalpullsecret.io/digest": "d",
    "globalpullsecret.io/since": "2026-01-01T00:00:00Z",
    "globalpullsecret.io/word": "true",
  };
  const metadata = { uid: "uid-of-a", resourceVersion: "7", annotations };
  const path = `${collections.pods}/pod-of-a`;
  assert.deepEqual(requests, [{ method: "patch", path, body: { metadata } }]);
  assert.equal(wrote.length, 1);
});

const bodies: readonly (readonly [what: string, action: PodAction, expected: object])[] = [
  [
    "removes an old request for a termination message",
    action("grant", "a", { ...defaultGrant, word: false }),
    { "globalpullsecret.io/word": null },
  ],
  [
    "revokes a grant by writing revision 0",
    action("take-back", "a", { revision: 0, digest: "7", since: "s", word: false }),
    {
      "globalpullsecret.io/revision": "0",
      "globalpullsecret.io/digest": "7",
      "globalpullsecret.io/since": "s",
      "globalpullsecret.io/word": null,
    },
  ],
  [
    "requests another sync by writing only the time in milliseconds",
    action("sync", "a"),
    { "globalpullsecret.io/sync": "1767225600500" },
  ],
];
for (const [what, podAction, expected] of bodies)
  test(what, async () => {
    const { context, requests } = scripted();
    await writePods(context, [podAction]);
    assert.partialDeepStrictEqual(requests, [{ body: { metadata: { annotations: expected } } }]);
  });

test("deletes a pod only if it still has the version that was read", async () => {
  const { context, requests } = scripted();
  await writePods(context, [action("delete", "a")]);
  const path = `${collections.pods}/pod-of-a`;
  assert.deepEqual(requests, [{ method: "remove", path, body: ["uid-of-a", "7"] }]);
});

const answers: readonly (readonly [
  what: string,
  error: Error,
  expected: Readonly<{ isSent: boolean; isRefused: boolean; isThrown: boolean; why?: RegExp }>,
])[] = [
  ["a conflict", refusal(409), { isSent: false, isRefused: false, isThrown: false }],
  ["a pod that is gone", refusal(404), { isSent: false, isRefused: false, isThrown: false }],
  [
    "a refusal by admission",
    refusal(403, "denied by their policy", "Forbidden"),
    { isSent: false, isRefused: true, isThrown: false, why: /denied by their policy/ },
  ],
  [
    "a refusal without a text",
    refusal(422, "", "Invalid"),
    { isSent: false, isRefused: true, isThrown: false, why: /^Invalid$/ },
  ],
  ["too many requests", refusal(429), { isSent: false, isRefused: false, isThrown: true }],
  [
    "an answer without information",
    refusal(503),
    { isSent: true, isRefused: false, isThrown: true },
  ],
  ["an error of the server", refusal(500), { isSent: true, isRefused: false, isThrown: false }],
  ["no answer", refusal(0), { isSent: true, isRefused: false, isThrown: true }],
  ["another error", new Error("x"), { isSent: true, isRefused: false, isThrown: true }],
];
for (const [what, error, { isSent, isRefused, isThrown, why }] of answers)
  test(`records whether the grant was sent or refused after ${what}`, async () => {
    const { context, remembering, seen, wrote } = scripted(() => error);
    context.memory.grants = remembering("a", "b");
    const untouched = seen("b");
    const outcome = await writePods(context, grants("a")).catch((thrown: unknown) => thrown);
    assert.equal(outcome === error, isThrown);
    assert.deepEqual([seen("a")?.sent !== undefined, seen("a")?.holds], [isSent, isSent]);
    const { why: words, ...times } = seen("a")?.refused ?? {};
    assert.deepEqual(times, isRefused ? { at: 50, last: 50 } : {});
    assert.match(words ?? "", why ?? /^$/);
    assert.equal(seen("b"), untouched);
    assert.deepEqual(wrote, []);
  });

for (const [what, error, syncs] of [
  ["is refused by admission", refusal(403, "no", "Forbidden"), 2],
  ["is answered with an error of the server", refusal(500, "panic"), 2],
  ["conflicts, and is due again", refusal(409), 0],
] as const)
  test(`does not count the grant as refused when a sync ${what}`, async () => {
    const { context, remembering, seen } = scripted(() => error);
    const { pods, ...rest } = remembering("a");
    const [record] = pods.values();
    assert.ok(record);
    const held = { ...record, sent: undefined, syncs: 2 };
    context.memory.grants = { ...rest, pods: new Map([["uid-of-a", held]]) };
    for (let tries = 0; tries < 4; tries += 1) await writePods(context, [action("sync", "a")]);
    const { refused, errors, ...after } = seen("a") ?? {};
    assert.deepEqual([refused, errors], [undefined, undefined]);
    assert.partialDeepStrictEqual(after, { holds: true, syncs });
  });

test("does not change the decision's memory when a grant was written", async () => {
  const { context, remembering } = scripted();
  const before = remembering("a");
  context.memory.grants = before;
  await writePods(context, grants("a"));
  assert.equal(context.memory.grants, before);
});

test("writes to the other pods when one pod has changed, is gone, or cannot be written", async () => {
  const errors = new Map([
    ["b", refusal(409)],
    ["c", refusal(404)],
    ["d", refusal(403, "no")],
  ]);
  const { context, wrote, seen, remembering } = scripted((path) => errors.get(path.at(-1) ?? ""));
  const nodes = ["a", "b", "c", "d", "e"];
  context.memory.grants = remembering(...nodes);
  await writePods(context, grants(...nodes));
  assert.deepEqual(
    nodes.filter((node) => seen(node)?.refused !== undefined),
    ["d"],
  );
  assert.equal(wrote.length, 2);
  assert.deepEqual(
    nodes.map((node) => seen(node)?.sent !== undefined),
    [true, false, false, false, true],
  );
});

test("sends 16 requests at a time, and each write once", async () => {
  const { context, requests, mostUnderWay } = scripted();
  const nodes = Array.from({ length: 100 }, (_, at) => `n${at}`);
  await writePods(context, grants(...nodes));
  assert.equal(mostUnderWay(), 16);
  const names = requests.map(({ path }) => path.split("pod-of-")[1]);
  assert.equal(names.length, nodes.length);
  assert.deepEqual(new Set(names), new Set(nodes));
});

for (const status of [429, 503])
  test(`sends no other write until the Retry-After of a ${status} has passed, and fails only if nothing was written`, async () => {
    let isBusy = true;
    const { context, requests, wrote, remembering, seen, pass } = scripted((path) =>
      isBusy && path.endsWith("-n0") ? refusal(status, "", "TooManyRequests", 7) : undefined,
    );
    const nodes = Array.from({ length: 100 }, (_, at) => `n${at}`);
    context.memory.grants = remembering(...nodes);
    await writePods(context, grants(...nodes));
    assert.equal(requests.length, 16);
    assert.equal(wrote.length, 15);
    // If a grant that was never sent occupied a slot, newer content would wait for a minute.
    assert.equal(nodes.filter((node) => seen(node)?.holds).length, 15);
    isBusy = false;
    pass(6);
    await writePods(context, grants("n0"));
    assert.equal(requests.length, 16);
    pass(1);
    await writePods(context, grants("n0"));
    assert.equal(wrote.length, 16);
    isBusy = true;
    await assert.rejects(writePods(context, grants("n0")), { status });
  });

test("after four errors or conflicts with one version of a pod, counts it as refused and writes to other pods", async () => {
  for (const [error, why] of [
    [refusal(500, "panic"), /^500 Refused panic$/],
    [refusal(409), /another client/],
  ] as const) {
    const { context, wrote, remembering, seen } = scripted((path) =>
      path.endsWith("-a") ? error : undefined,
    );
    context.memory.grants = remembering("a", "b");
    for (let tries = 0; tries < 3; tries += 1) await writePods(context, grants("a", "b"));
    assert.equal(seen("a")?.refused, undefined);
    const later = action("grant", "a");
    await writePods(context, [{ ...later, pod: { ...later.pod, resourceVersion: "8" } }]);
    assert.equal(seen("a")?.refused, undefined, "the pod changed in between");
    for (let tries = 0; tries < 4; tries += 1) await writePods(context, grants("a", "b"));
    assert.match(seen("a")?.refused?.why ?? "", why);
    assert.equal(wrote.length, 7);
  }
});

test("ends a batch early when each write fails", async () => {
  const { context, requests } = scripted(() => refusal(500));
  await writePods(context, grants(...Array.from({ length: 100 }, (_, at) => `n${at}`)));
  assert.ok(requests.length < 2 * 16, String(requests.length));
});

test("sends nothing when there is nothing to write", async () => {
  const { context, requests } = scripted();
  await writePods(context, []);
  assert.deepEqual(requests, []);
});

test("distinguishes writes of pods from writes of objects", () => {
  assert.equal(isPodAction(action("sync", "a")), true);
  assert.equal(isPodAction({ kind: "promote" }), false);
});

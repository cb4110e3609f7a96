/** Writes to one version of a pod, on a fake API server in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Pod } from "@kubernetes/client-node";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { Refusal } from "#test/harness/api/protocol.ts";
import { ApiError } from "./api-error.ts";
import { annotate, quotable, removeVersion, type Version } from "./conditional.ts";
import { collections } from "./paths.ts";

const name = "global-pull-secret-syncer-x7k2p";
const path = `${collections.pods}/${name}`;

/** A pod on a node, and the cluster that has it. */
async function setUp() {
  const api = new FakeApi();
  const cluster = directly(api, "test");
  const pod = await cluster.create<V1Pod>(collections.pods, {
    kind: "Pod",
    metadata: { name, annotations: { theirs: "stay", old: "1" } },
    spec: { nodeName: "a", containers: [{ name: "agent", image: "i" }] },
  });
  api.asked.length = 0;
  return { api, cluster, made: pod, at: versionOf(pod) };
}

const versionOf = ({ metadata }: V1Pod): Version => ({
  uid: metadata?.uid ?? "",
  resourceVersion: metadata?.resourceVersion ?? "",
});

test("sets and removes annotations of the pod in one request, and touches nothing else", async () => {
  const { api, cluster, made: pod, at } = await setUp();
  const answer = await annotate<V1Pod>(cluster, path, at, { revision: "7", old: null });
  assert.ok(answer.is === "done");
  const { metadata, ...rest } = answer.object;
  assert.deepEqual(metadata?.annotations, { theirs: "stay", revision: "7" });
  assert.deepEqual(rest.spec, pod.spec);
  assert.notEqual(metadata?.resourceVersion, at.resourceVersion);
  assert.deepEqual(
    api.asked.map(({ verb, body }) => [verb, body]),
    [["patch", { metadata: { ...at, annotations: { revision: "7", old: null } } }]],
  );
});

const lost: readonly (readonly [
  what: string,
  admit: (annotations: Record<string, string>) => void,
])[] = [
  ["removes", (annotations) => delete annotations["revision"]],
  ["changes", (annotations) => (annotations["revision"] = "8")],
  ["puts back", (annotations) => (annotations["old"] = "1")],
];
for (const [what, admit] of lost)
  test(`reports a refusal, and the field, when admission ${what} an annotation`, async () => {
    const { api, cluster, at } = await setUp();
    api.store.admit = ({ metadata }) => admit(metadata.annotations ?? {});
    const answer = await annotate(cluster, path, at, { revision: "7", old: null });
    const field = what === "puts back" ? "old" : "revision";
    const why = `admission changes metadata.annotations[${field}]`;
    assert.deepEqual(answer, { is: "refused", status: 200, why });
  });

for (const status of [403, 404, 409, 429, 500, 503])
  test(`reports a refusal when a webhook denies with ${status}`, async () => {
    const { api, cluster, at } = await setUp();
    const why = 'admission webhook "x" denied the request: later';
    api.refuses = () => new Refusal(status, "Denied", why);
    const refused = { is: "refused", status, why };
    assert.deepEqual(await annotate(cluster, path, at, { revision: "7" }), refused);
    assert.deepEqual(await removeVersion(cluster, path, at), refused);
  });

test("reports a conflict, and does nothing, when another client wrote first or another pod has the name", async () => {
  const { api, cluster, made: pod, at } = await setUp();
  await cluster.apply(path, { metadata: { labels: { a: "b" } } }, { manager: "m", force: true });
  const before = api.object(path);
  assert.deepEqual(await annotate(cluster, path, at, { revision: "7" }), { is: "conflict" });
  assert.deepEqual(await removeVersion(cluster, path, at), { is: "conflict" });
  assert.deepEqual(api.object(path), before);
  api.store.clear();
  const { metadata: _, ...body } = pod;
  await cluster.create(collections.pods, { ...body, metadata: { name } });
  assert.deepEqual(await annotate(cluster, path, at, { revision: "7" }), { is: "conflict" });
  assert.deepEqual(await removeVersion(cluster, path, at), { is: "conflict" });
});

test("reports a pod that is gone, and treats its deletion as done", async () => {
  const { api, cluster, at } = await setUp();
  api.store.clear();
  assert.deepEqual(await annotate(cluster, path, at, { revision: "7" }), { is: "gone" });
  assert.deepEqual(await removeVersion(cluster, path, at), { is: "done", object: undefined });
});

test("begins to delete exactly that version of the pod", async () => {
  const { api, cluster, at } = await setUp();
  assert.equal((await removeVersion(cluster, path, at)).is, "done");
  assert.ok(api.object<V1Pod>(path)?.metadata?.deletionTimestamp);
});

const digest = "8f3ac1de09b2417f8f3ac1de09b2417f";
const refusals: readonly (readonly [who: string, refusal: Refusal, why: RegExp])[] = [
  ["a missing right", new Refusal(403, "Forbidden", "pods is forbidden"), /^pods is forbidden$/],
  [
    "an admission policy",
    new Refusal(422, "Invalid", "ValidatingAdmissionPolicy 'no-grants.example.com' denied request"),
    /^ValidatingAdmissionPolicy 'no-grants\.example\.com' denied request$/,
  ],
  [
    "a webhook that quotes the request",
    new Refusal(400, "Denied", `admission webhook "w" denied:\n digest ${digest} is bad`),
    /^admission webhook "w" denied: digest … is bad$/,
  ],
  [
    "a webhook that cannot be called",
    new Refusal(500, "InternalError", 'failed calling webhook "w": connection refused'),
    /^failed calling webhook "w": connection refused$/,
  ],
  ["a refusal without a message", new Refusal(403, "Forbidden", ""), /^Forbidden$/],
];
for (const [who, refusal, why] of refusals)
  test(`reports a refusal by ${who}, for a patch and for a deletion`, async () => {
    const { api, cluster, at } = await setUp();
    api.refuses = () => refusal;
    const patched = await annotate(cluster, path, at, { digest });
    assert.ok(patched.is === "refused");
    assert.match(patched.why, why);
    assert.equal(patched.status, refusal.status);
    assert.equal((await removeVersion(cluster, path, at)).is, "refused");
  });

test("rejects when the outcome is not about the pod", async () => {
  const { api, cluster, at } = await setUp();
  for (const status of [401, 408, 429, 500, 503]) {
    api.refuses = () => new Refusal(status, "No", "later");
    for (const write of [
      () => annotate(cluster, path, at, {}),
      () => removeVersion(cluster, path, at),
    ])
      await assert.rejects(write(), (error: ApiError) => error.status === status);
  }
});

const quotes: readonly (readonly [written: string, quoted: string])[] = [
  ["plain words of node-1.example.com", "plain words of node-1.example.com"],
  ["a\u0000b\n\n\tc", "a b c"],
  ["at https://user:hunter2@hook.example:443/x", "at https://…@hook.example:443/x"],
  ["sent Authorization: Bearer abc.def", "sent Authorization: Bearer …"],
  ['"auth":"dXNlcjpwYXNzd29yZDEyMzQ1Njc4"', '"auth":"…"'],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x", "….….x"],
  ["sha256:0123456789abcdef0123456789abcdef", "sha256:…"],
  [
    "pod global-pull-secret-syncer-x7k2p of rule-4-pods-0001",
    "pod global-pull-secret-syncer-x7k2p of rule-4-pods-0001",
  ],
  ["what we sent: my-own-value", "what we sent: …"],
];
for (const [written, quoted] of quotes)
  test(`quotes a refusal as ${JSON.stringify(quoted)}`, () => {
    assert.equal(quotable(written, ["my-own-value", "7"]), quoted);
  });

test("quotes at most 300 characters", () => {
  assert.equal(quotable("word ".repeat(200), []).length, 300);
});

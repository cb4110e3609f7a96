import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client.ts";
import { recall, remember, withCondition, type Condition } from "./annotations.ts";

const said = {
  type: "RolledOut",
  status: "False",
  reason: "OneNodeFirst",
  message: "m",
  revision: 3,
} as const;
const [early, late] = [new Date(1000), new Date(2000)];

const time = (conditions: readonly Condition[]) =>
  conditions.find(({ type }) => type === "RolledOut")?.lastTransitionTime;

test("a condition's time changes with its status or revision, not with its words", () => {
  const first = withCondition([], said, early);
  assert.equal(
    time(withCondition(first, { ...said, reason: "RollingOut" }, late)),
    early.toISOString(),
  );
  assert.equal(time(withCondition(first, { ...said, status: "True" }, late)), late.toISOString());
  assert.equal(time(withCondition(first, { ...said, revision: 4 }, late)), late.toISOString());
});

test("since when a source is what it is does not change with the revision", () => {
  const unknown = { ...said, type: "OriginalAccepted", status: "Unknown" } as const;
  const later = withCondition(withCondition([], unknown, early), { ...unknown, revision: 4 }, late);
  assert.equal(later[0]?.lastTransitionTime, early.toISOString());
  assert.equal(
    withCondition(later, { ...unknown, status: "True" }, late)[0]?.lastTransitionTime,
    late.toISOString(),
  );
});

test("conditions of other types stay", () => {
  const both = withCondition(withCondition([], said, early), { ...said, type: "Accepted" }, early);
  assert.deepEqual(
    withCondition(both, said, late).map(({ type }) => type),
    ["Accepted", "RolledOut"],
  );
});

test("what is remembered is recalled, and nothing is written when nothing changed", async () => {
  const written: {
    metadata: { annotations: Record<string, string>; uid: string; resourceVersion: string };
  }[] = [];
  const cluster = {
    apply: async (_: string, body: (typeof written)[0]) => void written.push(body),
  } as unknown as Cluster;
  const memory = { conditions: withCondition([], said, early), rolled: true, released: 3 };
  await remember(cluster, { metadata: { uid: "u", resourceVersion: "7" } }, memory);
  const annotations = written[0]?.metadata.annotations ?? {};
  // In the version that was seen: a controller that stood still remembers what is no longer so.
  assert.equal(written[0]?.metadata.uid, "u");
  assert.equal(written[0]?.metadata.resourceVersion, "7");
  const secret = { metadata: { uid: "u", annotations } };
  assert.deepEqual(recall(secret), memory);
  await remember(cluster, secret, memory);
  assert.equal(written.length, 1);
});

test("what a controller before version 0.2 remembered is recalled, and written under the new names", async () => {
  const before = { "global-pull-secret/rolled": "true", "global-pull-secret/released": "4" };
  const secret = { metadata: { uid: "u", annotations: before } };
  assert.deepEqual(recall(secret), { conditions: [], rolled: true, released: 4 });
  const written: object[] = [];
  const cluster = {
    apply: async (_: string, body: object) => void written.push(body),
  } as unknown as Cluster;
  await remember(cluster, secret, recall(secret));
  const annotations = { "globalpullsecret.io/rolled": "true", "globalpullsecret.io/released": "4" };
  assert.partialDeepStrictEqual(written, [{ metadata: { annotations } }]);
});

test("nonsense in the annotations reads as nothing", () => {
  const annotations = {
    "globalpullsecret.io/conditions": "{]",
    "globalpullsecret.io/released": "soon",
  };
  assert.deepEqual(recall({ metadata: { annotations } }), {
    conditions: [],
    rolled: false,
    released: 0,
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import fc from "fast-check";
import { character } from "#pullsecret/arbitrary.fixture.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { noState } from "./state.fixture.ts";
import { readState, stateSecret, writeState, type RememberedState } from "./state.ts";

const rollout = { revision: 3, halted: true };

const states: fc.Arbitrary<RememberedState> = fc.record({
  accepted: fc.dictionary(fc.stringMatching(/^[a-z0-9-]{1,12}$/), fc.string({ unit: character })),
  rollout: fc.option(fc.jsonValue(), { nil: undefined }),
  policy: fc.option(fc.jsonValue(), { nil: undefined }),
  sourcesFrom: fc.option(fc.uuid(), { nil: undefined }),
  absentSince: fc
    .dictionary(
      fc.constantFrom("additional", "team-a", "constructor"),
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }),
    )
    .map((since) => new Map(Object.entries(since))),
});

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? "null");

test("law: reads back its own writes, byte for byte", () => {
  fc.assert(
    fc.property(states, (state) => {
      const read = readState(stateSecret(state));
      assert.deepEqual({ ...read.accepted }, { ...state.accepted });
      assert.deepEqual(plain(read.rollout), plain(state.rollout));
      assert.deepEqual(read.absentSince, state.absentSince);
      assert.deepEqual(plain(read.policy), plain(state.policy));
      assert.equal(read.sourcesFrom, state.sourcesFrom);
    }),
  );
});

test("law: never throws, whatever the Secret contains", () => {
  const key = fc.constantFrom("rollout", "policy", "absent-since.a", "source.original");
  const value = fc.oneof(
    fc.base64String(),
    fc.string(),
    fc.jsonValue().map((jsonValue) => btoa(encodeURI(JSON.stringify(jsonValue)))),
  );
  fc.assert(fc.property(fc.dictionary(key, value), (data) => void readState({ data })));
  for (const secret of [undefined, {}]) {
    const { accepted, ...rest } = readState(secret);
    assert.deepEqual({ ...rest, accepted: { ...accepted } }, noState);
  }
});

const encode = (text: string) => Buffer.from(text).toString("base64");
const nonsense: readonly (readonly [what: string, key: string, text: string])[] = [
  ["a rollout that is not JSON", "rollout", "{]"],
  ["a policy that is not JSON", "policy", "no"],
];
for (const [what, key, text] of nonsense)
  test(`reads ${what} as absent`, () => {
    const { rollout, policy } = readState({ data: { [key]: encode(text) } });
    assert.deepEqual([rollout, policy], [undefined, undefined]);
  });

test("reads a malformed time as absent, and keeps the times of other sources", () => {
  const since = new Map([["team-a", new Date(0)]]);
  const { data } = stateSecret({ ...noState, absentSince: since });
  const read = readState({ data: { ...data, "absent-since.additional": encode("soon") } });
  assert.deepEqual(read.absentSince, since);
});

test("finds no document of a source that was never accepted, whatever the source's name is", () => {
  assert.equal(readState({ data: {} }).accepted["constructor"], undefined);
});

type Asked = { method: string; body?: V1Secret; force?: boolean; manager?: string };

/** A cluster that only records the requests. */
function scripted() {
  const asked: Asked[] = [];
  const cluster = {
    apply: async (_: string, body: V1Secret, options: { manager: string; force: boolean }) => {
      asked.push({ method: "apply", body, ...options });
      return body;
    },
    remove: async () => void asked.push({ method: "remove" }),
  } as unknown as Cluster;
  return { asked, cluster };
}

const metadata = {
  uid: "u",
  resourceVersion: "7",
  labels: { "app.kubernetes.io/managed-by": "global-pull-secret" },
};
const live = (state: RememberedState, more: object = {}): V1Secret => ({
  ...stateSecret(state),
  metadata,
  ...more,
});

test("applies a new state without force, with its own field manager", async () => {
  const { asked, cluster } = scripted();
  await writeState(cluster, undefined, noState);
  assert.equal(asked[0]?.force, false);
  assert.equal(asked[0].manager, "global-pull-secret-controller-state");
  assert.equal(asked[0].body?.type, "Opaque");
  assert.equal(asked[0].body.metadata?.resourceVersion, newborn, "nobody else has created it");
});

test("writes an existing state only if it still has the version that was read", async () => {
  const { asked, cluster } = scripted();
  await writeState(cluster, live(noState), { ...noState, rollout });
  assert.equal(asked[0]?.force, true);
  assert.deepEqual(asked[0].body?.metadata?.resourceVersion, "7");
  assert.deepEqual(asked[0].body.metadata.uid, "u");
});

test("sends nothing when nothing changed, whatever keys others added", async () => {
  const { asked, cluster } = scripted();
  const state = { ...noState, rollout, accepted: { additional: "{}" } };
  const secret = live(state, { data: { ...stateSecret(state).data, theirs: "eA==" } });
  assert.equal(await writeState(cluster, secret, state), secret);
  assert.deepEqual(asked, []);
});

const changes: readonly (readonly [sentence: string, from: V1Secret])[] = [
  ["a deleted document of a source", live({ ...noState, accepted: { additional: "{}" } })],
  ["a deleted rollout", live({ ...noState, rollout })],
  ["our label, if someone removed it", live(noState, { metadata: { ...metadata, labels: {} } })],
];
for (const [sentence, from] of changes) {
  test(`writes a change of the state: ${sentence}`, async () => {
    const { asked, cluster } = scripted();
    await writeState(cluster, from, noState);
    assert.equal(asked.length, 1);
  });
}

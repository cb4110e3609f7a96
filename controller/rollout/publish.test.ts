/** Which revisions the controller publishes, whatever nodes report. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { globalSecret, newSalt, readPublished } from "#controller/objects/global-secret.ts";
import { decide } from "./decide.ts";
import { stateOf, type PodFacts, type SecretFacts, type Snapshot, noMemory } from "./facts.ts";

/** Revision `revision` is served, and the only node reports the revision `journal`. */
function snapshotOf(revision: number, journal: number): Snapshot {
  const key = { revision, digest: "d", since: "t0" };
  const secret: SecretFacts = {
    revision,
    digest: "d",
    mode: "Restart",
    intent: "apply",
    served: revision,
    publishedAt: 0,
  };
  const pod: PodFacts = {
    uid: "u",
    node: "n",
    created: 1,
    resourceVersion: "1",
    isDeleting: false,
    isCurrent: true,
    mode: "Restart",
    grant: { ...key, word: false },
    ready: { is: true, since: "t1" },
    unreachable: undefined,
    terminationMessage: { ...key, kind: "behind", journal },
    lastExit: 1,
    waitingReason: undefined,
  };
  return {
    secret,
    state: { ...stateOf(revision, { retry: "", replaced: [] }), word: true },
    template: { isCurrent: true, mode: "Restart" },
    pods: [pod],
    nodes: { byName: new Map([["n", { uid: "n1", created: 0 }]]), all: true },
    desired: 1,
    target: {
      intent: "apply",
      digest: "d",
      isKnown: false,
      mode: "Restart",
      withdraws: { newest: false, served: false },
    },
    policy: { maxUnavailable: 1, maxFailures: 0, forgetAfter: 1, minInterval: 0, probation: 5 },
    isPaused: false,
    retry: "",
  };
}

const at = (seconds: number) => ({ steady: seconds, api: seconds });
const published = (snapshot: Snapshot, memory = noMemory, seconds = 100) => {
  const decision = decide(snapshot, memory, at(seconds));
  const revisions = decision.actions.flatMap((action) =>
    action.kind === "publish" ? [action.revision] : [],
  );
  return { ...decision, revisions };
};

const most = 2 ** 20;
const numbers: readonly (readonly [what: string, own: number, journal: number, next: number[]])[] =
  [
    ["a revision that a restored etcd lacks", 3, 50, [51]],
    ["the highest plausible revision", 3, 3 + most, [4 + most]],
    ["a revision that is too high", 3, 4 + most, []],
    ["the highest revision of fifteen digits", 3, 999_999_999_999_999, []],
    ["a revision at the end of the range", 2 ** 40 - 3, 2 ** 40 - 2, [2 ** 40 - 1]],
    ["a revision beyond the end of the range", 2 ** 40 - 3, 2 ** 40 - 1, []],
  ];
for (const [what, own, journal, next] of numbers)
  test(`when a node reports ${what}, publishes a higher revision only if the report is plausible`, () => {
    const snapshot = snapshotOf(own, journal);
    const { revisions, view } = published(snapshot);
    assert.deepEqual(revisions, next);
    assert.deepEqual(
      view.excused.map(({ node, reason }) => [node, reason]),
      [["n", "behind"]],
    );
    const lost = { ...snapshot, secret: undefined };
    const [revision = 0] = published(lost).revisions;
    assert.equal(revision, next[0] ?? own + 1);
    const content = { document: "{}", sources: "{}", intent: "apply" } as const;
    const newest = { ...content, salt: newSalt(), revision };
    const written = globalSecret({ newest, mode: "Restart", served: "nothing", publishedAt: 1 });
    assert.equal(readPublished(written)?.revision, revision);
  });

test("publishes no change during a pause when global-pull-secret was deleted or edited", () => {
  const lost = { ...snapshotOf(3, 3), secret: undefined };
  const held = published({ ...lost, isPaused: true });
  assert.deepEqual([held.actions, held.view.pending, held.again], [[], "paused", Infinity]);
  assert.deepEqual(published(lost).revisions, [4]);
  // Content that was published before is not a change.
  const knownSnapshot = { ...lost, target: { ...lost.target, isKnown: true } };
  assert.deepEqual(published({ ...knownSnapshot, isPaused: true }).revisions, [4]);
  // A withdrawal that has begun continues to its end.
  const target = { ...lost.target, intent: "release" as const };
  assert.deepEqual(published({ ...lost, target, isPaused: true }).revisions, [4]);
});

test("replaces the template during a pause, because a pause delays only changes of the content", () => {
  const template = { isCurrent: false, mode: "Restart" as const };
  const { actions } = published({ ...snapshotOf(3, 3), template, isPaused: true });
  assert.deepEqual(actions.map(({ kind }) => kind).at(-1), "write-template");
});

test("publishes less and less often for a node that keeps reporting a higher revision", () => {
  let memory = noMemory;
  let own = 3;
  const times: number[] = [];
  for (let seconds = 0; seconds < 86_400; seconds += 10) {
    const decision = published(snapshotOf(own, own + 100), memory, seconds);
    if (decision.revisions.length > 0) times.push(seconds);
    own = decision.revisions[0] ?? own;
    memory = decision.memory;
    assert.equal(decision.view.excused[0]?.node, "n");
  }
  assert.deepEqual(times, [0, 600, 1800, 4200, 9000, 18_600, 37_800, 59_400, 81_000]);
});

test("accepts a node's higher revision at once if etcd was restored again, or if nothing was published", () => {
  const first = published(snapshotOf(3, 50));
  assert.deepEqual(published(snapshotOf(3, 50), first.memory, 101).revisions, [51]);
  assert.deepEqual(published(snapshotOf(51, 60), first.memory, 101).revisions, []);
  assert.deepEqual(published(snapshotOf(4, 51), first.memory, 101).revisions, [52]);
});

test("publishes only newer content for scope Annotated before its template, because other agents do not serve it", () => {
  const mode = "CredentialProvider";
  const first = snapshotOf(3, 50);
  const snapshot: Snapshot = {
    ...first,
    secret: { ...(first.secret as SecretFacts), mode },
    template: { isCurrent: true, mode },
    pods: first.pods.map((pod) => Object.assign({}, pod, { mode })),
    target: { ...first.target, mode: "CredentialProviderAnnotated" },
  };
  const publishes = (changed: Partial<Snapshot["target"]>, journal: number) => {
    const pods = snapshot.pods.map((pod) =>
      Object.assign({}, pod, { terminationMessage: { ...pod.terminationMessage, journal } }),
    );
    const target = { ...snapshot.target, ...changed };
    return decide({ ...snapshot, pods, target }, noMemory, at(100)).actions.flatMap((action) =>
      action.kind === "publish" ? [[action.revision, action.mode, action.served]] : [],
    );
  };
  assert.deepEqual(publishes({}, 3), []);
  assert.deepEqual(publishes({}, 50), [[51, mode, "newest"]]);
  assert.deepEqual(publishes({ digest: "e" }, 3), [[4, "CredentialProviderAnnotated", "nothing"]]);
});

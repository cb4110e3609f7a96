import assert from "node:assert/strict";
import { test } from "node:test";
import type { PublishedMode } from "#contract/names.ts";
import type { Report } from "#contract/order.ts";
import { decide } from "./decide.ts";
import { adoptState } from "./evidence.ts";
import type { Action, NodeFacts, SecretFacts, Snapshot, View, Wanted } from "./facts.ts";
import { newerContent, publication } from "./publish.ts";
import {
  askedNode,
  newest,
  nodeOf,
  nodesOf,
  now,
  objectOf,
  pod,
  provedNodes,
  publishedAt,
  reportOf,
  secret,
  snapshotOf,
  state,
  usual,
} from "./snapshot.fixture.ts";

type Changes = Partial<Omit<Snapshot, "secret">> & Readonly<{ secret?: Partial<SecretFacts> }>;
const published = ({ secret: changes, ...rest }: Changes = {}) => ({
  ...snapshotOf(rest),
  secret: { ...secret, ...changes },
});
const wanted = (changes: Partial<Wanted>) => ({
  target: { ...snapshotOf().target, ...changes },
});
const other = wanted({ digest: "e" });
const release = wanted({ intent: "release" });
const interval = { policy: { ...snapshotOf().policy, minInterval: 60 } };
const fullBucket = { ...state, bucketUntil: now + 3100 };

const waits: readonly [
  condition: string,
  changes: Changes,
  expected: number | undefined,
  pending?: View["pending"],
][] = [
  ["nothing changed", {}, undefined],
  ["the digest differs", other, 0],
  ["the intent differs", release, 0],
  ["the cluster is paused", { ...other, isPaused: true }, Number.POSITIVE_INFINITY, "paused"],
  ["a release is paused", { ...release, isPaused: true }, Number.POSITIVE_INFINITY, "paused"],
  ["the interval is not over", { ...other, ...interval }, 50, "interval"],
  [
    "half a second of the interval is left",
    { ...other, ...interval, now: publishedAt + 59.5 },
    0.5,
    "interval",
  ],
  ["the interval is over", { ...other, ...interval, now: publishedAt + 60 }, 0],
  ["the clock was set back", { ...other, ...interval, now: publishedAt - 1 }, 0],
  ["a release is within the interval", { ...release, ...interval }, 0],
  [
    "a removal is within the interval",
    { ...wanted({ digest: "e", removes: true }), ...interval },
    0,
  ],
  ["the bucket is full", { ...other, state: fullBucket }, 100, "flapping"],
  [
    "the bucket has a place in half a second",
    { ...other, state: { ...state, bucketUntil: now + 3000.5 } },
    0.5,
    "flapping",
  ],
  [
    "the bucket is full, and a registry is removed",
    { ...wanted({ digest: "e", removes: true }), state: fullBucket },
    0,
  ],
  ["one place of the bucket is free again", { ...other, state: fullBucket, now: now + 100 }, 0],
  ["the policy wants another mode", wanted({ mode: "Reread" }), undefined, "template"],
  ["the template has another mode", { ...templateOf("Reread"), ...wanted({ mode: "Reread" }) }, 0],
  ["the template has no mode", templateOf(undefined), undefined],
  [
    "a released Secret has another mode",
    { ...templateOf("Reread"), ...release, secret: { intent: "release" } },
    undefined,
  ],
];
for (const [condition, changes, expected, pending = "no"] of waits)
  test(`${expected === undefined ? "publishes nothing" : `publishes after ${expected} s`} if ${condition}`, () => {
    const newer = newerContent(published(changes));
    assert.deepEqual([newer.isNewer ? newer.waits : undefined, newer.pending], [expected, pending]);
  });

function templateOf(mode: PublishedMode | undefined): Pick<Snapshot, "template"> {
  return { template: { isCurrent: true, mode, maxUnavailable: 1 } };
}

test("publishes six contents at once, then one in ten minutes", () => {
  const times: number[] = [];
  const newest = { ...secret };
  let bucket = state;
  for (let time = now; time < now + 3000; time += 10) {
    const snapshot = { ...published(other), secret: newest, state: bucket, now: time };
    if (newerContent(snapshot).waits > 0) continue;
    times.push(time - now);
    const { revision } = publication(snapshot);
    Object.assign(newest, { revision, publishedAt: time });
    bucket = adoptState(snapshot);
  }
  assert.deepEqual(times, [0, 10, 20, 30, 40, 50, 600, 1200, 1800, 2400]);
});

const revisions: readonly [condition: string, changes: Partial<Snapshot>, expected: number][] = [
  ["the time", {}, now],
  ["one more than the Secret's revision", { secret: { ...secret, revision: now + 5 } }, now + 6],
  ["one more than the served revision", { secret: { ...secret, served: now + 7 } }, now + 8],
  [
    "one more than the state's",
    { secret: undefined, state: { ...state, revision: now + 9 } },
    now + 10,
  ],
  ["not the highest number", { secret: { ...secret, revision: 2 ** 40 - 2 } }, 2 ** 40 - 1],
  ["the time if a number is damaged", { secret: { ...secret, revision: 2 ** 40 - 1 } }, now],
];
for (const [condition, changes, expected] of revisions)
  test(`chooses a revision: ${condition}`, () =>
    assert.equal(publication(snapshotOf({ ...changes, now: now + 0.5 })).revision, expected));

const annotated = "CredentialProviderAnnotated";
const modes: readonly [condition: string, changes: Partial<Snapshot>, expected: PublishedMode][] = [
  [
    "the policy's mode if there is no DaemonSet",
    { template: undefined, ...wanted({ mode: "Reread" }) },
    "Reread",
  ],
  [
    "the template's mode",
    { ...templateOf("Restart"), ...wanted({ mode: "Reread", digest: "e" }) },
    "Restart",
  ],
  [
    "the Secret's mode if the template has none",
    { ...templateOf(undefined), ...wanted({ mode: "Reread" }) },
    "Restart",
  ],
  [
    "the policy's mode without any other",
    { ...templateOf(undefined), secret: undefined, ...wanted({ mode: "Reread" }) },
    "Reread",
  ],
  [
    "scope Annotated before its template for newer content",
    wanted({ mode: annotated, digest: "e" }),
    annotated,
  ],
  [
    "scope Annotated before its template without a Secret",
    { secret: undefined, ...wanted({ mode: annotated }) },
    annotated,
  ],
  ["the template's mode for content that agents have", wanted({ mode: annotated }), "Restart"],
  [
    "scope Annotated while the template has not followed",
    { secret: { ...secret, mode: annotated }, ...wanted({ mode: annotated }) },
    annotated,
  ],
];
for (const [condition, changes, expected] of modes)
  test(`publishes with ${condition}`, () =>
    assert.equal(publication(snapshotOf(changes)).mode, expected));

const slots: readonly [condition: string, changes: Partial<Snapshot>, expected: string][] = [
  ["nothing if nothing is served", {}, "nothing"],
  ["nothing if there is no Secret", { secret: undefined }, "nothing"],
  ["the newest content if it is served", { secret: { ...secret, served: 100 } }, "newest"],
  ["the same content if older content is served", { secret: { ...secret, served: 99 } }, "same"],
  ["nothing in a release", { secret: { ...secret, served: 99 }, ...release }, "nothing"],
  ["nothing after a release", { secret: { ...secret, served: 99, intent: "release" } }, "nothing"],
  [
    "nothing in another mode",
    { secret: { ...secret, served: 99 }, ...templateOf("Reread") },
    "nothing",
  ],
];
for (const [condition, changes, expected] of slots)
  test(`serves ${condition} after a publication`, () =>
    assert.equal(publication(snapshotOf(changes)).served, expected));

const at = publishedAt + 1;
const unreachable = { ...pod, isUnreachable: true };
const promotions: readonly [
  condition: string,
  nodes: readonly NodeFacts[],
  expected: boolean,
  changes?: Partial<Snapshot>,
][] = [
  ["three nodes have proved it", [...provedNodes(3), nodeOf("n"), nodeOf("m")], true],
  ["two of three have proved it", [...provedNodes(2), nodeOf("n")], false],
  ["both nodes have proved it", provedNodes(2), true],
  [
    "both reachable nodes have proved it",
    [...provedNodes(2), nodeOf("n", { pod: unreachable })],
    true,
  ],
  ["the others have refused it", [...provedNodes(1), askedNode("n", at, "Refused")], true],
  ["a node without a pod lacks it", [...provedNodes(1), nodeOf("n", { pod: undefined })], true],
  [
    "only an unreachable node has proved it",
    [{ ...askedNode("n", at, "Proved"), pod: unreachable }],
    false,
  ],
  ["no node has proved it", [askedNode("n", at, "Refused")], false],
  ["there are no nodes", [], false],
  ["a node has failed", [...provedNodes(3), askedNode("n", at, "Failed")], false],
  [
    "a failure is allowed",
    [...provedNodes(1), askedNode("n", at, "Failed")],
    true,
    { policy: { ...snapshotOf().policy, maxFailures: 1 } },
  ],
  ["reports are no proof", provedNodes(3), false, { isGuarded: false }],
  ["it is served already", provedNodes(3), false, { secret: { ...secret, served: 100 } }],
  [
    "it is a release that most nodes have confirmed",
    [...nodesOf(3, { object: objectOf(undefined, reportOf("Removed", 0)) }), askedNode("n", at)],
    false,
    { secret: { ...secret, intent: "release" }, ...release },
  ],
];
for (const [condition, nodes, expected, changes] of promotions)
  test(`${expected ? "promotes" : "does not promote"} content if ${condition}`, () => {
    const { actions } = decide(snapshotOf({ nodes, ...changes }));
    assert.equal(
      actions.some(({ kind }) => kind === "promote"),
      expected,
    );
    if (expected) assert.equal(savedIn(actions)?.served, true);
  });

function savedIn(actions: readonly Action[]) {
  const [first] = actions;
  return first?.kind === "save" ? first.state : undefined;
}

test("publishes the same content again if a node has proved a later revision, as after a restored etcd", () => {
  const reported = (result: Report["result"], revision: number) =>
    nodeOf("n", { object: objectOf(undefined, reportOf(result, at, { ...newest, revision })) });
  const publishes = (
    revision: number,
    changes: Partial<Snapshot> = {},
    result: Report["result"] = "Proved",
  ) =>
    decide(snapshotOf({ ...changes, nodes: [reported(result, revision)] })).actions.some(
      ({ kind }) => kind === "publish",
    );
  assert.ok(publishes(newest.revision + 1));
  assert.ok(!publishes(newest.revision));
  for (const result of ["Failed", "Refused"] as const)
    assert.ok(!publishes(newest.revision + 1, {}, result), result);
  assert.ok(!publishes(newest.revision + 1, { isPaused: true }));
  assert.ok(!publishes(snapshotOf().now + 1), "a revision of the future is damaged data");
});

test("promotes although a node is silent or its agent does not run, if all others have proved it", () => {
  const late = { now: at + usual + 1 };
  const stopped = nodeOf("stopped", { pod: { ...pod, isRunning: false } });
  const nodes = [...provedNodes(1), askedNode("silent", at), stopped];
  assert.ok(decide(snapshotOf({ ...late, nodes })).actions.some(({ kind }) => kind === "promote"));
});

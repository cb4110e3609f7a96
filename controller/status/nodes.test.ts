import assert from "node:assert/strict";
import { test } from "node:test";
import type { WaitReason } from "#controller/rollout/facts.ts";
import { conditionOf } from "#kube/conditions.ts";
import { nodeWithPod, progressWith, rollingOut, waitingFor } from "../rollout/progress.fixture.ts";
import { factsWith, now, rollout, trouble } from "./facts.fixture.ts";
import { failuresOf } from "./nodes.ts";
import { statusOf } from "./status.ts";
import type { StatusFacts } from "./summary.ts";

const many = (count: number, reason: WaitReason) =>
  Array.from({ length: count }, (_, at) =>
    waitingFor(`${reason}${at}`, reason, { text: `GPS206 ${"x".repeat(800)}` }),
  );
const crowd = progressWith({
  ...rollingOut("rollout"),
  view: {
    phase: "rollout",
    desired: 5000,
    current: 0,
    isReady: false,
    waiting: [
      ...many(1000, "window"),
      ...many(1000, "unreachable"),
      ...many(1000, "refused"),
      ...many(1000, "silent"),
      ...many(1000, "failed"),
    ],
  },
});

test("counts no nodes before they have been read, and while nothing is decided about them", () => {
  const { view, ...progress } = crowd;
  for (const unread of [progress, { ...crowd, view: { ...view, phase: "idle" } }]) {
    const stage = { kind: "rollout", progress: unread } as unknown as StatusFacts["stage"];
    assert.equal(statusOf(factsWith({ stage }), undefined, now).nodes, undefined);
  }
});

test("names ten of 5,000 nodes and ten failures, lists 200 of 1,000 registries, and counts the others", () => {
  const registries = Array.from({ length: 1000 }, (_, at) => ({ registry: `r${at}`, source: "s" }));
  const stage = { kind: "rollout", progress: crowd } as const;
  const status = statusOf(factsWith({ stage, registries }), undefined, now);
  assert.equal(status.registries?.length, 200);
  assert.equal(status.registriesOmitted, 800);
  assert.equal(status.failures?.length, 10);
  assert.equal(status.failures?.[0]?.code, "GPS206");
  const counts = { summary: "0/5000", unfit: 1000, unreachable: 1000, failed: 1000, silent: 1000 };
  assert.partialDeepStrictEqual(status.nodes, counts);
  const sum = status.nodes?.waiting?.reduce((all, { nodes }) => all + nodes, 0);
  assert.deepEqual([sum, status.nodes?.waiting?.[0]], [5000, { reason: "NoPlace", nodes: 1000 }]);
  const condition = status.conditions?.find(({ type }) => type === "NodesLeftOut");
  assert.match(condition?.message ?? "", /^failed0, failed1, .* and 3990 more$/);
  assert.ok(JSON.stringify(status).length < 100_000);
});

test("names each node that needs help, with the code and the time of its agent or of the controller", () => {
  const stuck = { waitingReason: "ImagePullBackOff" };
  const waiting = [
    waitingFor("a", "starting", stuck),
    waitingFor("young", "starting", stuck),
    waitingFor("creating", "starting", { waitingReason: "ContainerCreating" }),
    waitingFor("b", "podless"),
    waitingFor("c", "refused", { text: "GPS235 GPS235: no\u{202e} provider" }),
    waitingFor("d", "failed"),
    waitingFor("e", "unreachable", stuck),
    waitingFor("f", "silent"),
    waitingFor("g", "atWork"),
    waitingFor("h", "window"),
    waitingFor("i", "controlPlane"),
  ];
  const nodes = [nodeWithPod("a", 900), nodeWithPod("young", 950), nodeWithPod("creating", 0)];
  const stage = rollout({ now: 1000, view: { waiting }, nodes });
  const failuresWith = (changes: Partial<StatusFacts>) => {
    const { failures = [] } = statusOf(factsWith({ stage, ...changes }), undefined, now);
    return failures.map(({ node, code, message, since }) => `${node} ${code} ${since}: ${message}`);
  };
  const at = "2026-01-01T00:00:00Z";
  const all = [
    "d GPS218 1970-01-01T00:15:50Z: GPS218 rolled back",
    `f GPS335 ${at}: GPS335 the node was asked and did not answer in time`,
    "c GPS235 1970-01-01T00:15:50Z: GPS235 no\\u{202e} provider",
    `e GPS334 ${at}: GPS334 the node's kubelet does not answer`,
    `a GPS336 ${at}: GPS336 the node's agent does not start: ImagePullBackOff`,
  ];
  assert.deepEqual(failuresWith({}), all);
  const podless = `b GPS337 ${at}: GPS337 the node has no agent pod`;
  assert.deepEqual(failuresWith(trouble("podsRefused")), [...all, podless]);
});

for (const [what, before, reported, since] of [
  ["a node that is new", [], undefined, "2026-01-01T00:00:00Z"],
  ["the same failure", [["n", "GPS334"]], undefined, "2025-12-24T00:00:00Z"],
  ["another failure of the node", [["n", "GPS335"]], undefined, "2026-01-01T00:00:00Z"],
  ["the failure of another node", [["m", "GPS334"]], undefined, "2026-01-01T00:00:00Z"],
  ["the agent's own time", [["n", "GPS334"]], 900, "1970-01-01T00:15:00Z"],
] as const)
  test(`reports since when a node needs help: ${what}`, () => {
    const [failure] = failuresOf(
      [{ node: "n", code: "GPS334", message: "m", since: reported }],
      before.map(([node, code]) => ({ node, code, message: "", since: "2025-12-24T00:00:00Z" })),
      now,
    );
    assert.deepEqual(failure, { node: "n", code: "GPS334", message: "m", since });
  });

test("names nodes that a withdrawal left behind, until they are gone", () => {
  const facts = (...leftBehind: readonly string[]) =>
    factsWith({ stage: { kind: "nothing", leftBehind }, sources: [] });
  const first = statusOf(facts("n1", "n2"), undefined, now);
  const at = "2026-01-01T00:00:00Z";
  const failure = {
    node: "n1",
    code: "GPS307",
    message: "GPS307 the node has not confirmed the withdrawal and may keep the entries",
    since: at,
  };
  assert.deepEqual(first.failures, [failure, { ...failure, node: "n2" }]);
  assert.match(conditionOf(first, "Ready")?.message ?? "", /may keep the entries: n1, n2$/);
  assert.partialDeepStrictEqual(conditionOf(first, "NodesLeftOut"), {
    status: "True",
    reason: "NodesLeftBehind",
    message: "n1, n2",
  });
  const later = statusOf(facts("n1"), first, new Date(now.getTime() + 60_000));
  assert.deepEqual(later.failures, [failure]);
  const dismissed = statusOf(facts(), later, now);
  assert.deepEqual(dismissed.failures, []);
  assert.equal(conditionOf(dismissed, "NodesLeftOut")?.status, "False");
  assert.match(conditionOf(dismissed, "Ready")?.message ?? "", /nothing of this product is left$/);
});

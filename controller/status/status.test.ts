import assert from "node:assert/strict";
import { test } from "node:test";
import { idleView } from "#controller/rollout/survey.ts";
import { listed, progressWith, rollingOut } from "../rollout/progress.fixture.ts";
import type { Removal } from "../withdrawal/withdrawal.ts";
import type { StatusFacts } from "./summary.ts";
import { type SourceFacts, servedAfter, nothingKnown } from "./sources.ts";
import { statusOf } from "./status.ts";
import { conditionOf } from "#kube/conditions.ts";

const now = new Date("2026-01-01T00:00:00Z");
const rollout = (changes: Parameters<typeof progressWith>[0] = {}): StatusFacts["stage"] => ({
  kind: "rollout",
  progress: progressWith(changes),
});
const removal = (changes: object): StatusFacts["stage"] => ({
  kind: "removal",
  removal: { step: "release", revision: 8, released: false, ...changes } as Removal,
});
const source = (changes: Partial<SourceFacts> = {}): SourceFacts => ({
  name: "additional-pull-secret",
  resourceVersion: "12",
  accepted: "True",
  reason: "Accepted",
  message: "in order",
  extra: false,
  ...changes,
});
const factsWith = (changes: Partial<StatusFacts> = {}): StatusFacts => ({
  generation: 3,
  managementState: "Managed",
  specWaits: false,
  stage: rollout(),
  troubles: [],
  withdrawsAt: undefined,
  sources: [source()],
  registries: [],
  served: {},
  ...changes,
});
const trouble = (kind: StatusFacts["troubles"][number]["kind"]) => ({
  troubles: [{ kind, message: `GPS3xx ${kind}` }],
});
const unread: StatusFacts["stage"] = {
  kind: "rollout",
  progress: { ...progressWith(rollingOut("canary")), view: undefined },
};
const startingAll = { phase: "canary", counts: { ...idleView.counts, starting: 3 } } as const;
const allAway = {
  phase: "canary",
  counts: { ...idleView.counts, excused: 3 },
  excused: ["a", "b", "c"].map((node) => listed(node, "away")),
} as const;
const paused = { managementState: "Paused" } as const;

/**
 * Facts → the condition Ready and its reason, R if Reconciling is True, S if Stalled is True, and
 * the condition RolledOut.
 */
const table: readonly (readonly [string, Partial<StatusFacts>, string])[] = [
  ["nothing checked yet", { stage: { kind: "starting" } }, "Unknown Starting R - Unknown"],
  ["served", {}, "True InForce - - True"],
  [
    "no node",
    {
      stage: rollout({ desired: 0, served: 0, view: { phase: "canary", counts: idleView.counts } }),
    },
    "True NoNodes - - True",
  ],
  ["no source", { stage: { kind: "nothing" }, sources: [] }, "True NoSource - - True"],
  ["pods not read yet", { stage: unread }, "Unknown Starting R - Unknown"],
  ["pods not read yet, in a pause", { stage: unread, ...paused }, "Unknown Starting R - Unknown"],
  [
    "the DaemonSet is being deleted",
    { stage: { kind: "blocked", by: "DaemonSet" } },
    "False StartingAgents R - False",
  ],
  [
    "the DaemonSet is being deleted in a pause",
    { stage: { kind: "blocked", by: "DaemonSet" }, ...paused },
    "False StartingAgents R - False",
  ],
  [
    "agents starting",
    { stage: rollout({ ...rollingOut("canary"), view: startingAll }) },
    "False StartingAgents R - False",
  ],
  ["canary", { stage: rollout(rollingOut("canary")) }, "False OneNodeFirst R - False"],
  ["window", { stage: rollout(rollingOut("rollout")) }, "False RollingOut R - False"],
  [
    "interval",
    { stage: rollout({ view: { pending: "interval" } }) },
    "False RollingOutLater R - True",
  ],
  [
    "halted",
    { ...trouble("halted"), stage: rollout(rollingOut("halted")) },
    "False Halted - S False",
  ],
  ["an old pod cannot be replaced", trouble("upgradeRefused"), "False UpgradeRefused - S True"],
  [
    "no node can be reached",
    { stage: rollout({ ...rollingOut("canary"), view: allAway }) },
    "False NodesOutOfReach R - False",
  ],
  [
    "no node can start its agent",
    { ...trouble("unserved"), stage: rollout({ ...rollingOut("canary"), view: allAway }) },
    "False NoNodeCanBeServed - S False",
  ],
  [
    "late nodes after the promotion",
    { stage: rollout({ view: { counts: { ...idleView.counts, current: 1, changing: 2 } } }) },
    "True InForce - - True",
  ],
  [
    "source refused",
    { ...trouble("rejected"), sources: [source({ accepted: "False" })] },
    "False SourceRejected - S True",
  ],
  [
    "extra refused",
    { ...trouble("sourceRejected"), sources: [source({ accepted: "False", extra: true })] },
    "True InForce - - True",
  ],
  [
    "original away",
    {
      sources: [source(), source({ name: "original", accepted: "Unknown" })],
      served: { original: "3" },
    },
    "True InForce - - True",
  ],
  [
    "original never read",
    { sources: [source({ name: "original", accepted: "Unknown" })] },
    "Unknown OriginalUnknown R - True",
  ],
  ["spec not allowed", trouble("notAllowed"), "False NotAllowed - S True"],
  [
    "spec not allowed, but withdrawn",
    {
      ...trouble("notAllowed"),
      managementState: "Withdrawn",
      stage: { kind: "nothing" },
      sources: [],
    },
    "True Withdrawn - - True",
  ],
  [
    "OpenShift",
    { ...trouble("unsupported"), stage: { kind: "blocked" } },
    "False UnsupportedCluster - S False",
  ],
  [
    "foreign object",
    { ...trouble("foreign"), stage: { kind: "blocked" } },
    "False ForeignObject - S False",
  ],
  ["request refused", trouble("refused"), "False RequestRefused - S True"],
  ["write contested", trouble("contested"), "False WriteContested - S True"],
  ["no answer for minutes", trouble("unanswered"), "Unknown RequestUnanswered R - True"],
  [
    "a request is refused from the beginning",
    { ...trouble("refused"), stage: { kind: "starting" } },
    "False RequestRefused - S False",
  ],
  [
    "pods refused",
    { ...trouble("podsRefused"), stage: rollout({ ...rollingOut("canary"), view: startingAll }) },
    "False PodsRefused - S False",
  ],
  ["admission changes objects", trouble("mutated"), "True InForce - - True"],
  ["paused, nothing waits", paused, "True Paused - - True"],
  [
    "paused, a change waits",
    { ...paused, stage: rollout({ view: { pending: "paused" } }) },
    "False Paused - S True",
  ],
  [
    "paused, the agents' new mode waits",
    { ...paused, stage: rollout({ view: { pending: "template" } }) },
    "False RollingOut R - True",
  ],
  ["paused, spec waits", { ...paused, specWaits: true }, "False Paused - S True"],
  ["paused, a withdrawal waits", { ...paused, withdrawsAt: now }, "False Paused - S True"],
  [
    "paused, the withdrawal of an extra source waits",
    { ...paused, sources: [source(), source({ name: "team-a", reason: "WithdrawalAwaited" })] },
    "False Paused - S True",
  ],
  [
    "paused before the first installation",
    { ...paused, stage: { kind: "blocked" } },
    "False Paused - S False",
  ],
  [
    "paused during a rollout",
    { ...paused, stage: rollout(rollingOut("rollout", { pending: "paused" })) },
    "False Paused - S False",
  ],
  ["grace", { withdrawsAt: now }, "False WithdrawalAwaited R - True"],
  ["withdrawing", { stage: removal({}) }, "False Withdrawing R - False"],
  ["withdrawal overdue", { stage: removal({}), ...trouble("overdue") }, "False Overdue - S False"],
  [
    "nodes awaited",
    { stage: removal({ awaited: { names: ["n"], until: "u" } }) },
    "True NodesAwaited - - True",
  ],
  [
    "withdrawn",
    { stage: { kind: "nothing" }, managementState: "Withdrawn", sources: [] },
    "True Withdrawn - - True",
  ],
];

function summary(facts: StatusFacts): string {
  const { conditions = [] } = statusOf(facts, undefined, now);
  const of = (type: string) => conditions.find((condition) => condition.type === type);
  const flag = (type: string) => (of(type)?.status === "True" ? type[0] : "-");
  return [
    of("Ready")?.status,
    of("Ready")?.reason,
    flag("Reconciling"),
    flag("Stalled"),
    of("RolledOut")?.status,
  ].join(" ");
}
for (const [name, changes, expected] of table)
  test(`status: ${name}`, () => assert.equal(summary(factsWith(changes)), expected));

test("law: is never Reconciling and Stalled at once, and Ready only when no action is needed", () => {
  for (const [, facts] of table)
    for (const [, other] of table) {
      const shown = summary(factsWith({ ...facts, ...other }));
      assert.ok(!/ R S /.test(shown), shown);
      assert.equal(shown.startsWith("True"), / - - /.test(shown), shown);
    }
});

const many = (count: number, reason: Parameters<typeof listed>[1]) =>
  Array.from({ length: count }, (_, at) => listed(`${reason}${at}`, reason));
const crowd = progressWith({
  ...rollingOut("rollout"),
  desired: 5000,
  view: {
    phase: "rollout",
    failed: many(1250, "word"),
    excused: [...many(1250, "unfit"), ...many(1250, "away")],
  },
  pods: ["word0", "word1"].map((node) => ({
    node,
    message: `GPS206 ${"x".repeat(5000)}`,
  })) as never,
});

test("names ten of 5,000 nodes and ten failures, lists 200 of 1,000 registries, and counts the others", () => {
  const registries = Array.from({ length: 1000 }, (_, at) => ({ registry: `r${at}`, source: "s" }));
  const stage = { kind: "rollout", progress: crowd } as const;
  const status = statusOf(factsWith({ stage, registries }), undefined, now);
  assert.equal(status.registries?.length, 200);
  assert.equal(status.registriesOmitted, 800);
  assert.equal(status.failures?.length, 10);
  assert.equal(status.failures?.[0]?.code, "GPS206");
  assert.equal(status.failures?.[0]?.message.length, 1024);
  assert.partialDeepStrictEqual(status.nodes, { unfit: 1250, unreachable: 1250, failed: 1250 });
  const condition = status.conditions?.find(({ type }) => type === "NodesLeftOut");
  assert.match(condition?.message ?? "", /^unfit0, unfit1, .* and 2490 more$/);
  assert.ok(JSON.stringify(status).length < 100_000);
});

test("names a node that cannot be served, with the reason", () => {
  const excused = [
    listed("a", "not-started", "ImagePullBackOff"),
    listed("b", "podless"),
    listed("c", "not-started"),
    listed("d", "not-ready"),
    listed("e", "not-ready"),
    listed("f", "away"),
    listed("g", "late"),
  ];
  const pods = [
    { node: "c", message: "GPS218 rolled back" },
    { node: "d", message: "GPS240 held", terminationMessage: undefined },
    { node: "e", message: "GPS200 proved", terminationMessage: { kind: "proved" } },
  ] as never;
  const stage = rollout({ view: { excused }, pods });
  const { failures = [] } = statusOf(factsWith({ stage }), undefined, now);
  assert.deepEqual(
    failures.map(({ node, message, code }) => `${node} ${code}: ${message}`),
    [
      "a GPS336: GPS336 the node's agent does not start: ImagePullBackOff",
      "b GPS337: GPS337 the node has no agent pod",
      "c GPS218: its agent is not Ready: GPS218 rolled back",
      "d GPS240: its agent is not Ready: GPS240 held",
      "e undefined: its agent is not Ready",
      "f GPS334: GPS334 the node's kubelet does not answer",
      "g GPS335: GPS335 the node's agent did not answer in time",
    ],
  );
});

test("counts, but does not list, a registry whose name the CRD does not accept", () => {
  const registries = ["a.io", "b".repeat(1025), `c${"d".repeat(1023)}`].map((registry) => ({
    registry,
    source: "s",
  }));
  const status = statusOf(factsWith({ registries }), undefined, now);
  assert.deepEqual(
    status.registries?.map(({ registry }) => registry.length),
    [4, 1024],
  );
  assert.equal(status.registriesOmitted, 1);
});

test("changes a condition's time only when its status changes, and keeps the counts until the pods are read", () => {
  const counted = factsWith({ stage: { kind: "rollout", progress: crowd } });
  const first = statusOf(counted, undefined, now);
  const later = new Date(now.getTime() + 60_000);
  const second = statusOf(factsWith({ stage: unread }), first, later);
  assert.deepEqual([second.failures, second.nodes], [first.failures, first.nodes]);
  const third = statusOf(counted, first, later);
  const timeOf = (status: typeof first, type: string) =>
    status.conditions?.find((condition) => condition.type === type)?.lastTransitionTime;
  assert.equal(timeOf(third, "Ready"), timeOf(first, "Ready"));
  const fourth = statusOf(factsWith(), third, later);
  assert.equal(timeOf(fourth, "Ready"), "2026-01-01T00:01:00Z");
});

const everyFact: readonly (readonly [string, Partial<StatusFacts>])[] = [
  ["everything is served", {}],
  ["nothing waits in a pause", paused],
  ["a source is refused", { ...trouble("rejected"), sources: [source({ accepted: "False" })] }],
  ["a rollout is halted", { ...trouble("halted"), stage: rollout(rollingOut("halted")) }],
];
for (const [when, changes] of everyFact)
  test(`keeps the whole status when another controller begins to lead, until it has read the pods: ${when}`, () => {
    const before = statusOf(factsWith(changes), undefined, now);
    // The policy was changed while no controller led, so this generation is not observed yet.
    const unreadFacts = factsWith({ ...changes, stage: unread, generation: 4 });
    const later = new Date(now.getTime() + 60_000);
    assert.deepEqual(statusOf(unreadFacts, before, later), before);
    assert.deepEqual(
      statusOf({ ...unreadFacts, stage: { kind: "starting" } }, before, later),
      before,
    );
    const read = statusOf(factsWith({ ...changes, generation: 4 }), before, later);
    assert.equal(read.observedGeneration, 4);
    assert.equal(conditionOf(read, "Ready")?.lastTransitionTime, "2026-01-01T00:00:00Z");
  });

test("reports why the pods cannot be read, even if there is a status", () => {
  const before = statusOf(factsWith(), undefined, now);
  const status = statusOf(factsWith({ ...trouble("refused"), stage: unread }), before, now);
  assert.equal(conditionOf(status, "Ready")?.reason, "RequestRefused");
});

test("reports a run that stops because an extra source is refused, even if there is a status", () => {
  const before = statusOf(factsWith({ stage: { kind: "nothing" }, sources: [] }), undefined, now);
  const sources = [source({ name: "team-a", accepted: "False", extra: true })];
  const facts = { ...trouble("sourceRejected"), stage: { kind: "blocked" }, sources } as const;
  const status = statusOf(factsWith(facts), before, now);
  assert.equal(conditionOf(status, "SourcesAccepted")?.reason, "ExtraSourceRejected");
});

test("during a halt, keeps the time of the refusal and the revision in force", () => {
  const stage = rollout(rollingOut("halted"));
  const facts = factsWith({ ...trouble("halted"), stage });
  const first = statusOf(facts, undefined, now);
  const since = "2026-01-01T00:00:00Z";
  const expected = {
    inForce: 6,
    pending: 7,
    refused: { revision: 7, since, reason: "RestartFailed" },
  };
  assert.deepEqual(first.revision, expected);
  assert.deepEqual(statusOf(facts, first, new Date(now.getTime() + 9e6)).revision, expected);
});

test("reports a source's new version at once if the content is the same, and else when the new content is served", () => {
  const versions = (additional: string) => ({ versions: { additional } });
  const first = servedAfter(nothingKnown, { revision: 1, same: true, out: true, ...versions("5") });
  assert.deepEqual(first.served, { additional: "5" });
  const edited = servedAfter(first, { revision: 1, same: false, out: true, ...versions("6") });
  assert.deepEqual(edited.served, { additional: "5" });
  const rolls = servedAfter(edited, { revision: 2, same: true, out: false, ...versions("6") });
  assert.deepEqual(rolls.served, { additional: "5" });
  const again = servedAfter(rolls, { revision: 2, same: false, out: true, ...versions("9") });
  assert.deepEqual(again.served, { additional: "6" }, "what the last served revision contains");
  const annotated = servedAfter(again, { revision: 2, same: true, out: true, ...versions("10") });
  assert.deepEqual(annotated.served, { additional: "10" });
  assert.deepEqual(
    servedAfter(annotated, { revision: 2, same: true, out: true, versions: {} }).served,
    {
      additional: "10",
    },
  );
  const gone = servedAfter(annotated, {
    revision: 3,
    same: true,
    out: true,
    versions: { additional: undefined },
  });
  assert.equal(gone.served["additional"], undefined, "a missing Secret has no version");
});

test("never applies an object without fields, which the API server would turn into null and refuse", () => {
  const served = { ...rollingOut("canary"), served: 0 };
  for (const [name, changes] of [
    ...table,
    ["paused", { ...paused, stage: rollout(served) }] as const,
  ])
    assert.notDeepEqual(statusOf(factsWith(changes), undefined, now).revision, {}, name);
});

for (const [pending, what] of [
  ["places", "newer content waits"],
  ["template", "the new mode waits for the agents' DaemonSet"],
] as const)
  test(`reports that ${what}`, () => {
    const stage = rollout(rollingOut("rollout", { pending }));
    const { conditions = [] } = statusOf(factsWith({ stage }), undefined, now);
    const ready = conditions.find(({ type }) => type === "Ready");
    assert.ok(ready?.message.endsWith(`, ${what}`), ready?.message);
  });

test("in a cluster without nodes, reports the published revision as in force", () => {
  const stage = rollout({
    desired: 0,
    served: 0,
    view: { phase: "canary", counts: idleView.counts },
  });
  assert.deepEqual(statusOf(factsWith({ stage }), undefined, now).revision, { inForce: 7 });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { View, WaitReason } from "#controller/rollout/facts.ts";
import { progressWith, rollingOut, waitingFor } from "../rollout/progress.fixture.ts";
import type { Removal } from "../withdrawal/withdrawal.ts";
import type { StatusFacts } from "./summary.ts";
import { factsWith, now, rollout, source, trouble } from "./facts.fixture.ts";
import { servedAfter, nothingKnown } from "./sources.ts";
import { statusOf } from "./status.ts";
import { conditionOf } from "#kube/conditions.ts";

const withdraws = { since: now, begins: now, due: false, lost: [] };

const removal = (changes: object): StatusFacts["stage"] => ({
  kind: "removal",
  removal: { step: "release", revision: 8, released: false, ...changes } as Removal,
});
const awaits = (...reasons: readonly WaitReason[]) => ({
  awaited: { names: ["n"], until: "u" },
  progress: progressWith({
    intent: "release",
    view: { phase: "withdrawal", waiting: reasons.map((reason) => waitingFor("n", reason)) },
  }),
});
const awaitedFor = (...reasons: readonly WaitReason[]) => removal(awaits(...reasons));
const unread: StatusFacts["stage"] = {
  kind: "rollout",
  progress: { ...progressWith(rollingOut("first")), view: undefined },
};
const nothing: StatusFacts["stage"] = { kind: "nothing", leftBehind: [] };
const noNodes: Partial<View> = { desired: 0, current: 0 };
/** A first rollout in which all three nodes wait for these reasons, one after the other. */
const waitingAll = (...reasons: readonly WaitReason[]): StatusFacts["stage"] =>
  rollout(
    rollingOut("first", {
      waiting: Array.from({ length: 3 }, (_, at) =>
        waitingFor(`n${at}`, reasons[at % reasons.length] ?? "window", {
          waitingReason: "ImagePullBackOff",
        }),
      ),
    }),
  );
const haltedBy = (by: "failed" | "lost") =>
  rollout(rollingOut("halted", { halt: { by, count: 2 } }));
const paused = { managementState: "Paused" } as const;

/** Facts → the condition Ready and its reason, R if Reconciling is True, S if Stalled is True. */
const table: readonly (readonly [string, Partial<StatusFacts>, string])[] = [
  ["nothing checked yet", { stage: { kind: "starting" } }, "Unknown Starting R -"],
  ["served", {}, "True InForce - -"],
  [
    "no node",
    {
      stage: rollout({ served: 0, view: { ...noNodes, phase: "first" } }),
    },
    "True NoNodes - -",
  ],
  ["no source", { stage: nothing, sources: [] }, "True NoSource - -"],
  [
    "registries are asked about the first content",
    {
      stage: { kind: "blocked" },
      sources: [source({ accepted: "Unknown", reason: "Verifying" })],
    },
    "False Verifying R -",
  ],
  [
    "registries are asked about newer content",
    { sources: [source({ accepted: "Unknown", reason: "Verifying" })] },
    "False Verifying R -",
  ],
  ["a registry denies a credential", trouble("denied"), "True InForce - -"],
  [
    "nodes left behind by a withdrawal",
    { stage: { kind: "nothing", leftBehind: ["n1"] }, sources: [] },
    "True NodesLeftBehind - -",
  ],
  ["pods not read yet", { stage: unread }, "Unknown Starting R -"],
  ["pods not read yet, in a pause", { stage: unread, ...paused }, "Unknown Starting R -"],
  [
    "the DaemonSet is being deleted",
    { stage: { kind: "blocked", by: "DaemonSet" } },
    "False StartingAgents R -",
  ],
  [
    "the DaemonSet is being deleted in a pause",
    { stage: { kind: "blocked", by: "DaemonSet" }, ...paused },
    "False StartingAgents R -",
  ],
  ["agents starting", { stage: waitingAll("starting", "podless") }, "False StartingAgents R -"],
  ["first node", { stage: rollout(rollingOut("first")) }, "False OneNodeFirst R -"],
  ["window", { stage: rollout(rollingOut("rollout")) }, "False RollingOut R -"],
  ["interval", { stage: rollout({ view: { pending: "interval" } }) }, "False RollingOutLater R -"],
  [
    "a flapping source",
    { ...trouble("flapping"), stage: rollout({ view: { pending: "flapping" } }) },
    "False SourceFlapping R -",
  ],
  [
    "halted by failed nodes",
    { ...trouble("halted"), stage: haltedBy("failed") },
    "False Halted - S",
  ],
  ["halted by silent nodes", { ...trouble("halted"), stage: haltedBy("lost") }, "False Halted - S"],
  [
    "halted, and newer content waits for its time",
    {
      ...trouble("halted"),
      stage: rollout(
        rollingOut("halted", { halt: { by: "failed", count: 1 }, pending: "interval" }),
      ),
    },
    "False RollingOutLater R -",
  ],
  [
    "halted, and newer content waits for its place",
    {
      ...trouble("halted"),
      stage: rollout(
        rollingOut("halted", { halt: { by: "failed", count: 1 }, pending: "flapping" }),
      ),
    },
    "False SourceFlapping R -",
  ],
  [
    "halted, and newer content waits for the end of a pause or for the agents",
    {
      ...trouble("halted"),
      stage: rollout(
        rollingOut("halted", { halt: { by: "failed", count: 1 }, pending: "template" }),
      ),
    },
    "False Halted - S",
  ],
  [
    "halted while enough nodes have it",
    {
      ...trouble("halted"),
      stage: rollout({ view: { phase: "halted", halt: { by: "failed", count: 1 } } }),
    },
    "False Halted - S",
  ],
  [
    "the admission policy is missing",
    { ...trouble("unguarded"), stage: waitingAll("unguarded") },
    "False PolicyMissing - S",
  ],
  ["no node can be reached", { stage: waitingAll("unreachable") }, "False NodesOutOfReach R -"],
  [
    "no node can be reached any more",
    { stage: rollout({ view: { isReady: false } }) },
    "False NodesOutOfReach R -",
  ],
  [
    "all nodes refuse, fail, are silent or do not start their agent",
    { ...trouble("unserved"), stage: waitingAll("refused", "silent", "unreachable") },
    "False NoNodeCanBeServed - S",
  ],
  [
    "one of the waiting nodes is at work",
    { ...trouble("unserved"), stage: waitingAll("refused", "silent", "atWork") },
    "False OneNodeFirst R -",
  ],
  [
    "few nodes lack it",
    { stage: rollout({ view: { current: 2, waiting: [waitingFor("n", "failed")] } }) },
    "True InForce - -",
  ],
  [
    "too many nodes lack it",
    { stage: rollout({ view: { isReady: false, waiting: [waitingFor("n", "atWork")] } }) },
    "False RollingOut R -",
  ],
  [
    "source refused",
    { ...trouble("rejected"), sources: [source({ accepted: "False" })] },
    "False SourceRejected - S",
  ],
  [
    "extra refused",
    { ...trouble("sourceRejected"), sources: [source({ accepted: "False", extra: true })] },
    "True InForce - -",
  ],
  [
    "original away",
    {
      sources: [source(), source({ name: "original", accepted: "Unknown" })],
      served: { original: "3" },
    },
    "True InForce - -",
  ],
  [
    "original never read",
    { sources: [source({ name: "original", accepted: "Unknown" })] },
    "Unknown OriginalUnknown R -",
  ],
  [
    "extra source never read",
    { sources: [source(), source({ name: "team-a", accepted: "Unknown", extra: true })] },
    "True InForce - -",
  ],
  ["spec not allowed", trouble("notAllowed"), "False NotAllowed - S"],
  [
    "spec not allowed, but withdrawn",
    {
      ...trouble("notAllowed"),
      managementState: "Withdrawn",
      stage: nothing,
      sources: [],
    },
    "True Withdrawn - -",
  ],
  [
    "OpenShift",
    { ...trouble("unsupported"), stage: { kind: "blocked" } },
    "False UnsupportedCluster - S",
  ],
  [
    "foreign object",
    { ...trouble("foreign"), stage: { kind: "blocked" } },
    "False ForeignObject - S",
  ],
  ["request refused", trouble("refused"), "False RequestRefused - S"],
  ["write contested", trouble("contested"), "False WriteContested - S"],
  ["no answer for minutes", trouble("unanswered"), "Unknown RequestUnanswered R -"],
  [
    "a request is refused from the beginning",
    { ...trouble("refused"), stage: { kind: "starting" } },
    "False RequestRefused - S",
  ],
  [
    "no pod is created on any node",
    { ...trouble("podsRefused"), stage: waitingAll("podless") },
    "False PodsRefused - S",
  ],
  [
    "no pod is created on some nodes while others change",
    { ...trouble("podsRefused"), stage: waitingAll("podless", "window", "atWork") },
    "False OneNodeFirst R -",
  ],
  ["admission changes objects", trouble("mutated"), "True InForce - -"],
  ["paused, nothing waits", paused, "True Paused - -"],
  [
    "paused, a change waits",
    { ...paused, stage: rollout({ view: { pending: "paused" } }) },
    "False Paused - S",
  ],
  [
    "paused, the agents' new mode waits",
    { ...paused, stage: rollout({ view: { pending: "template" } }) },
    "False NodesOutOfReach R -",
  ],
  ["paused, spec waits", { ...paused, specWaits: true }, "False Paused - S"],
  ["paused, a withdrawal waits", { ...paused, withdraws }, "False Paused - S"],
  [
    "paused, the withdrawal of an extra source waits",
    { ...paused, sources: [source(), source({ name: "team-a", reason: "WithdrawalAwaited" })] },
    "False Paused - S",
  ],
  [
    "paused before the first installation",
    { ...paused, stage: { kind: "blocked" } },
    "False Paused - S",
  ],
  [
    "paused during a rollout",
    { ...paused, stage: rollout(rollingOut("rollout", { pending: "paused" })) },
    "False Paused - S",
  ],
  ["grace", { withdraws }, "False WithdrawalAwaited R -"],
  [
    "the entries of a deleted Secret are kept",
    { withdraws: { ...withdraws, begins: undefined } },
    "True InForce - -",
  ],
  ["withdrawing", { stage: removal({}) }, "False Withdrawing R -"],
  ["withdrawal overdue", { stage: removal({}), ...trouble("overdue") }, "False Overdue - S"],
  [
    "withdrawing, but no pod is created",
    { stage: removal({}), ...trouble("podsRefused") },
    "False PodsRefused - S",
  ],
  ["only unreachable nodes awaited", { stage: awaitedFor("unreachable") }, "True NodesAwaited - -"],
  [
    "unreachable nodes no longer awaited",
    { stage: removal({ ...awaits("unreachable"), released: true }) },
    "False Withdrawing R -",
  ],
  [
    "a source refused during a withdrawal",
    { ...trouble("rejected"), stage: removal({}), sources: [source({ accepted: "False" })] },
    "False Withdrawing R -",
  ],
  [
    "a source refused while nothing is deployed",
    { ...trouble("originalRejected"), stage: nothing, managementState: "Withdrawn", sources: [] },
    "True Withdrawn - -",
  ],
  [
    "a reachable node awaited",
    { stage: awaitedFor("unreachable", "silent") },
    "False Withdrawing R -",
  ],
  [
    "withdrawn",
    { stage: nothing, managementState: "Withdrawn", sources: [] },
    "True Withdrawn - -",
  ],
];

function summary(facts: StatusFacts): string {
  const { conditions = [] } = statusOf(facts, undefined, now);
  const of = (type: string) => conditions.find((condition) => condition.type === type);
  const flag = (type: string) => (of(type)?.status === "True" ? type[0] : "-");
  return [of("Ready")?.status, of("Ready")?.reason, flag("Reconciling"), flag("Stalled")].join(" ");
}
for (const [name, changes, expected] of table)
  test(`status: ${name}`, () => assert.equal(summary(factsWith(changes)), expected));

test("law: is never Reconciling and Stalled at once, and Ready only when no action is needed", () => {
  for (const [, facts] of table)
    for (const [, other] of table) {
      const shown = summary(factsWith({ ...facts, ...other }));
      assert.ok(!shown.endsWith(" R S"), shown);
      assert.equal(shown.startsWith("True"), shown.endsWith(" - -"), shown);
    }
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
  const counted = factsWith({
    stage: rollout(rollingOut("rollout", { waiting: [waitingFor("a", "failed")] })),
  });
  const first = statusOf(counted, undefined, now);
  const later = new Date(now.getTime() + 60_000);
  const second = statusOf(factsWith({ stage: unread }), first, later);
  assert.deepEqual([second.failures, second.nodes], [first.failures, first.nodes]);
  const gone = statusOf(factsWith({ stage: nothing }), first, later);
  assert.deepEqual([gone.failures, gone.nodes, gone.revision], [[], undefined, undefined]);
  const third = statusOf(counted, first, later);
  const timeOf = (status: typeof first, type: string) =>
    status.conditions?.find((condition) => condition.type === type)?.lastTransitionTime;
  assert.equal(timeOf(third, "Ready"), timeOf(first, "Ready"));
  const fourth = statusOf(factsWith(), third, later);
  assert.equal(timeOf(fourth, "Ready"), "2026-01-01T00:01:00Z");
});

test("keeps the whole status when another controller begins to lead, until it has read the pods", () => {
  const before = statusOf(factsWith(paused), undefined, now);
  // The policy was changed while no controller led, so this generation is not observed yet.
  const unreadFacts = factsWith({ ...paused, stage: unread, generation: 4 });
  const later = new Date(now.getTime() + 60_000);
  assert.deepEqual(statusOf(unreadFacts, before, later), before);
  assert.deepEqual(
    statusOf({ ...unreadFacts, stage: { kind: "starting" } }, before, later),
    before,
  );
  const read = statusOf(factsWith({ ...paused, generation: 4 }), before, later);
  assert.equal(read.observedGeneration, 4);
  assert.equal(conditionOf(read, "Ready")?.lastTransitionTime, "2026-01-01T00:00:00Z");
});

test("reports that nothing is checked yet to an object whose status has no conditions", () => {
  const starting = factsWith({ stage: { kind: "starting" } });
  const status = statusOf(starting, { observedGeneration: 1 }, now);
  assert.equal(conditionOf(status, "Ready")?.reason, "Starting");
});

test("reports why the pods cannot be read, and keeps the nodes that were left out", () => {
  const names = Array.from({ length: 50 }, (_, at) => `n${at}`);
  const waiting = names.map((name) => waitingFor(name, "failed"));
  const stages = [
    rollout(rollingOut("rollout", { waiting })),
    { kind: "nothing", leftBehind: names },
  ] as const;
  for (const stage of stages) {
    const before = statusOf(factsWith({ stage }), undefined, now);
    const status = statusOf(factsWith({ ...trouble("refused"), stage: unread }), before, now);
    assert.equal(conditionOf(status, "Ready")?.reason, "RequestRefused");
    const leftOut = conditionOf(status, "NodesLeftOut");
    assert.match(leftOut?.message ?? "", /^n0, .* more$/);
    assert.deepEqual(leftOut, conditionOf(before, "NodesLeftOut"));
    assert.deepEqual(status.failures, before.failures);
  }
});

test("reports a run that stops because an extra source is refused, even if there is a status", () => {
  const before = statusOf(factsWith({ stage: nothing, sources: [] }), undefined, now);
  const sources = [source({ name: "team-a", accepted: "False", extra: true })];
  const facts = { ...trouble("sourceRejected"), stage: { kind: "blocked" }, sources } as const;
  const status = statusOf(factsWith(facts), before, now);
  assert.equal(conditionOf(status, "SourcesAccepted")?.reason, "ExtraSourceRejected");
});

test("shows the version of each source's Secret, and the version that the nodes have", () => {
  const sources = [
    source({ resourceVersion: "12" }),
    source({ name: "constructor", resourceVersion: "8", extra: true }),
    source({ name: "original", resourceVersion: "3" }),
  ];
  const served = { "additional-pull-secret": "11", original: "3" };
  const common = { accepted: "True", reason: "Accepted", message: "in order" };
  assert.deepEqual(statusOf(factsWith({ sources, served }), undefined, now).sources, [
    {
      name: "additional-pull-secret",
      ...common,
      resourceVersion: "12",
      servedResourceVersion: "11",
    },
    { name: "constructor", ...common, resourceVersion: "8" },
    { name: "original", ...common, resourceVersion: "3", servedResourceVersion: "3" },
  ]);
});

for (const [by, reason] of [
  ["failed", "NodesFailed"],
  ["lost", "NodesSilent"],
] as const)
  test(`during a halt with ${reason}, keeps the time of the halt and the revision in force`, () => {
    const facts = factsWith({ ...trouble("halted"), stage: haltedBy(by) });
    const first = statusOf(facts, undefined, now);
    const since = "2026-01-01T00:00:00Z";
    const expected = { inForce: 6, pending: 7, refused: { revision: 7, since, reason } };
    assert.deepEqual(first.revision, expected);
    assert.deepEqual(statusOf(facts, first, new Date(now.getTime() + 9e6)).revision, expected);
  });

test("sets the time of a halt again for another revision, and counts no halted revision as in force", () => {
  const halted = (revision: number) => {
    const view = { phase: "halted", halt: { by: "failed", count: 1 } } as const;
    return factsWith({ ...trouble("halted"), stage: rollout({ revision, served: 6, view }) });
  };
  const first = statusOf(halted(7), undefined, now);
  assert.equal(first.revision?.inForce, 6);
  const { revision } = statusOf(halted(8), first, new Date(now.getTime() + 60_000));
  const since = "2026-01-01T00:01:00Z";
  assert.deepEqual(revision?.refused, { revision: 8, since, reason: "NodesFailed" });
});

test("shows no revision as pending while a withdrawal only waits for unreachable nodes", () => {
  const { revision } = statusOf(factsWith({ stage: awaitedFor("unreachable") }), undefined, now);
  assert.equal(revision?.pending, undefined);
  const working = statusOf(factsWith({ stage: awaitedFor("atWork") }), undefined, now);
  assert.equal(working.revision?.pending, 7);
});

test("blames only extra sources if the others are accepted, reports those that are not known, and shows at most 1,024 characters of a message", () => {
  const extra = source({ name: "team-a", accepted: "False", extra: true });
  const reasonFor = (sources: StatusFacts["sources"]) =>
    conditionOf(statusOf(factsWith({ sources }), undefined, now), "SourcesAccepted")?.reason;
  assert.equal(reasonFor([source(), extra]), "ExtraSourceRejected");
  assert.equal(reasonFor([source({ accepted: "False" }), extra]), "SourceRejected");
  assert.equal(reasonFor([source(), source({ accepted: "Unknown" })]), "SourceUnknown");
  const sources = [source({ message: "x".repeat(1025) })];
  const [shown] = statusOf(factsWith({ sources }), undefined, now).sources ?? [];
  assert.equal(shown?.message?.length, 1024);
});

test("names everything that waits for the end of a pause", () => {
  const messageOf = (facts: Partial<StatusFacts>) =>
    conditionOf(statusOf(factsWith({ ...paused, ...facts }), undefined, now), "Ready")?.message;
  const end = "for spec.managementState: Managed";
  assert.match(messageOf({ withdraws }) ?? "", new RegExp(`^paused: a withdrawal waits ${end}`));
  const both = messageOf({ withdraws, specWaits: true }) ?? "";
  assert.match(both, new RegExp(`^paused: a withdrawal and a change of spec wait ${end}`));
});

test("keeps the revision in force until most nodes have the newest one, even if joining nodes get it", () => {
  const before = statusOf(factsWith(), undefined, now);
  assert.deepEqual(before.revision, { inForce: 7 });
  const stage = rollout({ ...rollingOut("rollout"), revision: 8, served: 8 });
  assert.deepEqual(statusOf(factsWith({ stage }), before, now).revision, {
    inForce: 7,
    pending: 8,
  });
});

test("reports how many nodes have the revision, and why the others wait", () => {
  const messageOf = (view: Partial<View>) => {
    const stage = rollout({ view });
    return conditionOf(statusOf(factsWith({ stage }), undefined, now), "Ready")?.message;
  };
  const waiting = [
    waitingFor("a", "refused"),
    waitingFor("b", "refused"),
    waitingFor("c", "silent"),
  ];
  assert.equal(messageOf({}), "revision 7 is on every node");
  assert.equal(
    messageOf({ desired: 100, current: 97, waiting }),
    "revision 7 is on 97 of 100 nodes, 2 Unfit, 1 Silent",
  );
  assert.equal(
    messageOf({ desired: 4, current: 1, isReady: false, waiting, phase: "rollout" }),
    "1 of 4 nodes have revision 7, 2 Unfit, 1 Silent",
  );
});

test("joins the messages of two problems of one kind, and shows no other kind", () => {
  const troubles = [
    { kind: "refused", message: "GPS321 a" },
    { kind: "rejected", message: "GPS301 c" },
    { kind: "refused", message: "GPS321 b" },
  ] as const;
  const { conditions } = statusOf(factsWith({ troubles }), undefined, now);
  for (const type of ["Ready", "Stalled"])
    assert.match(
      conditions?.find((condition) => condition.type === type)?.message ?? "",
      /^GPS321 a \| GPS321 b \[/,
    );
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
  const other = { revision: 3, same: true, out: true, versions: { original: "3" } };
  assert.deepEqual(
    servedAfter(annotated, other).served,
    { additional: "10", original: "3" },
    "the last accepted version of a source that is now refused",
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
  const served = { ...rollingOut("first"), served: 0 };
  for (const [name, changes] of [
    ...table,
    ["paused", { ...paused, stage: rollout(served) }] as const,
  ])
    assert.notDeepEqual(statusOf(factsWith(changes), undefined, now).revision, {}, name);
});

for (const [pending, what] of [
  ["paused", "newer content waits"],
  ["flapping", "newer content waits because the Secrets change too often"],
  ["template", "the new mode waits for the agents' DaemonSet"],
] as const)
  test(`reports that ${what}`, () => {
    const stage = rollout(rollingOut("rollout", { pending }));
    const { conditions = [] } = statusOf(factsWith({ stage }), undefined, now);
    const ready = conditions.find(({ type }) => type === "Ready");
    assert.ok(ready?.message.endsWith(`, ${what}`), ready?.message);
  });

test("in a cluster without nodes, reports the published revision as in force", () => {
  const stage = rollout({ served: 0, view: { ...noNodes, phase: "first" } });
  assert.deepEqual(statusOf(factsWith({ stage }), undefined, now).revision, { inForce: 7 });
});

const registry = (verified?: "Accepted" | "Denied" | "Unknown") => ({
  registry: String(verified),
  source: "additional-pull-secret",
  ...(verified && { verified }),
});
const verifications: readonly (readonly [
  facts: Partial<StatusFacts>,
  status: string,
  reason: string,
])[] = [
  [{ registries: [registry("Accepted"), registry("Unknown")] }, "True", "NoneDenied"],
  [{ registries: [registry("Unknown")] }, "Unknown", "NotVerified"],
  [{ registries: [registry()] }, "Unknown", "NotVerified"],
  [{ ...trouble("denied"), registries: [registry("Accepted")] }, "False", "CredentialsDenied"],
];
for (const [facts, ...expected] of verifications)
  test(`sets CredentialsVerified to ${expected.join(" ")} from ${JSON.stringify(facts)}`, () => {
    const condition = conditionOf(
      statusOf(factsWith(facts), undefined, now),
      "CredentialsVerified",
    );
    assert.deepEqual([condition?.status, condition?.reason], expected);
  });

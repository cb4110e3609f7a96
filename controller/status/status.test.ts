import assert from "node:assert/strict";
import { test } from "node:test";
import type { SurveyedNode } from "#controller/rollout/turn/survey-result.ts";
import { noRollouts, type Halt } from "#controller/rollout/halt/rollouts.ts";
import { countFates as count, type Fate, type Fates } from "#controller/rollout/turn/node-state.ts";
import type { Phase, Turn } from "#controller/rollout/turn/turn.ts";
import type { Progress } from "../rollout/step.ts";
import type { Removal } from "../withdrawal/removal.ts";
import type { StatusFacts, SourceFacts } from "./facts.ts";
import { statusOf } from "./status.ts";
import { after, nothingKnown } from "./served-versions.ts";

const now = new Date("2026-01-01T00:00:00Z");
const strategy = { stage: "wave", maxUnavailable: 1 } as const;
const served: Turn = { kind: "served", strategy, reason: "", again: undefined };
const wait = (phase: Phase): Turn => ({ kind: "wait", phase, strategy, reason: "why", again: 1 });
const counters = { desired: 3, updated: 3, ready: 3, available: 3, observed: true };
const daemonSetState = { ...strategy, template: 7, digest: "", drifted: false, ...counters };

const progressWith = (changes: Partial<Progress>): Progress => ({
  turn: served,
  revision: 7,
  published: false,
  global: {},
  stateSecret: undefined,
  daemonSetState,
  counts: undefined,
  fates: [],
  complete: true,
  waiting: false,
  intent: "apply",
  served: 7,
  rollouts: noRollouts,
  nudgeIn: undefined,
  ...changes,
});
const rollout = (changes: Partial<Progress> = {}): StatusFacts["stage"] => ({
  kind: "rollout",
  progress: progressWith(changes),
});
const rolling = { complete: false, served: 6 };
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
  reason: "",
  specWaits: false,
  stage: rollout(),
  troubles: [],
  withdrawsAt: undefined,
  sources: [source()],
  registries: [],
  served: {},
  ...changes,
});
const told = (kind: StatusFacts["troubles"][number]["kind"]) => ({
  troubles: [{ kind, message: `GPS3xx ${kind}` }],
});
const halt = (reason: Halt["reason"]): Halt => ({
  content: "",
  revision: 6,
  reason,
  nodes: [],
  since: now.toISOString(),
  tries: 0,
  retryAt: now.toISOString(),
  asked: "",
});
const held = (reason: Halt["reason"]) =>
  rollout({
    turn: wait("held"),
    intent: "hold",
    waiting: true,
    rollouts: { ...noRollouts, halt: halt(reason) },
  });
const paused = { managementState: "Paused" } as const;

/** Facts → Ready and its reason; whether Reconciling, whether Stalled; RolledOut. */
const table: readonly (readonly [string, Partial<StatusFacts>, string])[] = [
  ["nothing looked at", { stage: { kind: "starting" } }, "Unknown Starting R - Unknown"],
  ["served", {}, "True InForce - - True"],
  [
    "no node",
    { stage: rollout({ daemonSetState: { ...daemonSetState, desired: 0 } }) },
    "True NoNodes - - True",
  ],
  ["no source", { stage: { kind: "nothing" }, sources: [] }, "True NoSource - - True"],
  [
    "birth",
    { stage: rollout({ ...rolling, turn: wait("birth") }) },
    "False StartingAgents R - False",
  ],
  [
    "canary",
    { stage: rollout({ ...rolling, turn: wait("canary") }) },
    "False OneNodeFirst R - False",
  ],
  ["wave", { stage: rollout({ ...rolling, turn: wait("wave") }) }, "False RollingOut R - False"],
  [
    "interval",
    { stage: rollout({ waiting: true, turn: wait("interval") }) },
    "False RollingOutLater R - True",
  ],
  ["halted", { stage: rollout({ ...rolling, turn: wait("halted") }) }, "False Halted - S False"],
  ["held", { stage: held("failed") }, "False Halted - S False"],
  ["held by an outage", { stage: held("outage") }, "False NodesOutOfReach R - False"],
  [
    "outage",
    { stage: rollout({ ...rolling, turn: wait("outage") }) },
    "False NodesOutOfReach R - False",
  ],
  ["repair of agents", { stage: rollout({ turn: wait("wave") }) }, "True InForce - - True"],
  [
    "published, not in the template",
    { stage: rollout({ revision: 8, turn: wait("wave") }) },
    "False RollingOut R - False",
  ],
  [
    "source refused",
    { ...told("rejected"), sources: [source({ accepted: "False" })] },
    "False SourceRejected - S True",
  ],
  [
    "extra refused",
    { ...told("sourceRejected"), sources: [source({ accepted: "False", extra: true })] },
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
  ["spec not allowed", told("notAllowed"), "False NotAllowed - S True"],
  [
    "spec not allowed, but withdrawn",
    {
      ...told("notAllowed"),
      managementState: "Withdrawn",
      stage: { kind: "nothing" },
      sources: [],
    },
    "True Withdrawn - - True",
  ],
  [
    "OpenShift",
    { ...told("unsupported"), stage: { kind: "blocked" } },
    "False UnsupportedCluster - S False",
  ],
  [
    "foreign object",
    { ...told("foreign"), stage: { kind: "blocked" } },
    "False ForeignObject - S False",
  ],
  ["request refused", told("refused"), "False RequestRefused - S True"],
  ["write contested", told("contested"), "False WriteContested - S True"],
  ["no answer for minutes", told("unanswered"), "Unknown RequestUnanswered R - True"],
  [
    "request refused from the first one on",
    { ...told("refused"), stage: { kind: "starting" } },
    "False RequestRefused - S False",
  ],
  [
    "pods refused",
    { ...told("podsRefused"), stage: rollout({ ...rolling, turn: wait("birth") }) },
    "False PodsRefused - S False",
  ],
  ["admission changes ours", told("mutated"), "True InForce - - True"],
  ["paused, nothing waits", paused, "True Paused - - True"],
  [
    "paused, a change waits",
    { ...paused, stage: rollout({ waiting: true }) },
    "False Paused - S True",
  ],
  ["paused, spec waits", { ...paused, specWaits: true }, "False Paused - S True"],
  ["paused, a withdrawal waits", { ...paused, withdrawsAt: now }, "False Paused - S True"],
  [
    "paused, a further source's withdrawal waits",
    { ...paused, sources: [source(), source({ name: "team-a", reason: "WithdrawalAwaited" })] },
    "False Paused - S True",
  ],
  ["paused before the first", { ...paused, stage: { kind: "blocked" } }, "False Paused - S False"],
  [
    "paused in mid-wave",
    { ...paused, stage: rollout({ ...rolling, turn: wait("wave") }) },
    "False RollingOut R - False",
  ],
  ["grace", { withdrawsAt: now }, "False WithdrawalAwaited R - True"],
  ["withdrawing", { stage: removal({}) }, "False Withdrawing R - False"],
  ["withdrawal overdue", { stage: removal({}), ...told("overdue") }, "False Overdue - S False"],
  [
    "nodes awaited",
    { stage: removal({ awaited: { names: ["n"], until: "u", seconds: 1 } }) },
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
  const of = (type: string) => conditions.find((one) => one.type === type);
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

test("law: never Reconciling and Stalled; Ready is True only when nobody has to do anything", () => {
  for (const [, one] of table)
    for (const [, other] of table) {
      const said = summary(factsWith({ ...one, ...other }));
      assert.ok(!/ R S /.test(said), said);
      assert.equal(said.startsWith("True"), / - - /.test(said), said);
    }
});

const fateOf = (at: number): Fate =>
  (["refused", "unreachable", "failed", "served"] as const)[at % 4] ?? "served";
const fates: Fates = Array.from({ length: 5000 }, (_, at) => [
  { name: `n${at}`, agent: { message: `GPS206 ${"x".repeat(5000)}` } } as SurveyedNode,
  fateOf(at),
]);

test("5,000 nodes and 1,000 registries: ten names, ten failures, 200 registries, and the rest is counted", () => {
  const registries = Array.from({ length: 1000 }, (_, at) => ({ registry: `r${at}`, source: "s" }));
  const stage = rollout({ fates, counts: count(fates), turn: wait("wave"), complete: false });
  const status = statusOf(factsWith({ stage, registries }), undefined, now);
  assert.equal(status.registries?.length, 200);
  assert.equal(status.registriesOmitted, 800);
  assert.equal(status.failures?.length, 10);
  assert.equal(status.failures?.[0]?.code, "GPS206");
  assert.partialDeepStrictEqual(status.nodes, { unfit: 1250, unreachable: 1250, failed: 1250 });
  const left = status.conditions?.find(({ type }) => type === "NodesLeftOut");
  assert.match(left?.message ?? "", /^n0, n4, .* and 2490 more$/);
  assert.ok(JSON.stringify(status).length < 100_000);
});

test("on how many nodes a provider is possible is counted when nodes are read, and kept until they are read again", () => {
  const all = [["Agent"], ["Agent", "Preinstalled"], ["Preinstalled"], [], ["Preinstalled"]];
  const read: Fates = all.map((prospects, at) => [
    { name: `n${at}`, agent: { prospects } } as unknown as SurveyedNode,
    "served",
  ]);
  const first = statusOf(
    factsWith({ stage: rollout({ fates: read, counts: count(read) }) }),
    undefined,
    now,
  );
  assert.partialDeepStrictEqual(first.nodes, { registrable: 2, prepared: 3 });
  const second = statusOf(factsWith({ stage: rollout({}) }), first, now);
  assert.partialDeepStrictEqual(second.nodes, { registrable: 2, prepared: 3 });
  const never = statusOf(factsWith({ stage: rollout({}) }), undefined, now);
  assert.ok(!("registrable" in (never.nodes ?? {})));
});

test("a registry whose name the definition does not take is counted, and costs no other its place", () => {
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

test("a time changes with its condition's status, not with its words; what was counted stays until it is looked at", () => {
  const first = statusOf(
    factsWith({ stage: rollout({ fates, counts: count(fates) }) }),
    undefined,
    now,
  );
  const later = new Date(now.getTime() + 60_000);
  const short = { ...daemonSetState, available: 2 };
  const second = statusOf(factsWith({ stage: rollout({ daemonSetState: short }) }), first, later);
  assert.deepEqual(second.failures, first.failures);
  assert.equal(second.nodes?.unfit, 1250);
  const timeOf = (status: typeof first, type: string) =>
    status.conditions?.find((one) => one.type === type)?.lastTransitionTime;
  assert.equal(timeOf(second, "Ready"), timeOf(first, "Ready"));
  const third = statusOf(factsWith(told("rejected")), second, later);
  assert.equal(timeOf(third, "Ready"), "2026-01-01T00:01:00Z");
});

test("a served version: not before its revision is out, at once where nothing changed, never lowered by a refusal", () => {
  const versions = (additional: string) => ({ versions: { additional } });
  const one = after(nothingKnown, { revision: 1, same: true, out: true, ...versions("5") });
  assert.deepEqual(one.served, { additional: "5" });
  const edited = after(one, { revision: 1, same: false, out: true, ...versions("6") });
  assert.deepEqual(edited.served, { additional: "5" });
  const rolls = after(edited, { revision: 2, same: true, out: false, ...versions("6") });
  assert.deepEqual(rolls.served, { additional: "5" });
  const again = after(rolls, { revision: 2, same: false, out: true, ...versions("9") });
  assert.deepEqual(again.served, { additional: "6" }, "what the last served revision holds");
  const annotated = after(again, { revision: 2, same: true, out: true, ...versions("10") });
  assert.deepEqual(annotated.served, { additional: "10" });
  assert.deepEqual(after(annotated, { revision: 2, same: true, out: true, versions: {} }).served, {
    additional: "10",
  });
  const gone = after(annotated, {
    revision: 3,
    same: true,
    out: true,
    versions: { additional: undefined },
  });
  assert.equal(gone.served["additional"], undefined, "of a Secret that is not there none is");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ClusterStatus, ClusterProfilesSource, FleetSecretSpec } from "#api/fleet-secret.ts";
import { isSameStatus } from "#runtime/status.ts";
import { conditionOf } from "#kube/conditions.ts";
import { contentOf } from "./content.ts";
import { sentence } from "./problems.ts";
import { statusOf, type FoundClusters, warningsOf, stalledBy } from "./status.ts";

const now = new Date("2026-11-23T12:00:00.123Z");
const names: Readonly<Record<string, ClusterStatus["state"]>> = {
  D: "Done",
  W: "Waiting",
  P: "Progressing",
  F: "Failed",
  U: "Unreachable",
  L: "Leaving",
};
const resultsOf = (letters: string, more: Partial<FoundClusters> = {}): FoundClusters => ({
  generation: 3,
  now,
  clusters: Array.from(letters, (letter, at) => ({
    name: `c${at}`,
    state: names[letter] ?? "Waiting",
    ...(letter === "H" ? { reason: sentence("notListed", "x") } : {}),
  })),
  version: "7",
  stalled: undefined,
  paused: false,
  warnings: [],
  ...more,
});
const said = (results: FoundClusters): string =>
  (statusOf(results).conditions ?? [])
    .map(({ type, status }) => (status === "True" && type !== "Available" ? type : ""))
    .filter(Boolean)
    .join();

const stalled = { reason: "Halted", message: "guest-f refuses it" } as const;
const warning = { reason: "EveryNamespace", message: "every namespace" } as const;
const table: readonly (readonly [string, string, string, Partial<FoundClusters>?])[] = [
  ["no cluster is selected", "", "Reconciling"],
  ["all have the Secret", "DD", "Ready"],
  ["one is unreachable", "DU", "Reconciling"],
  ["all are unreachable", "UUU", "Reconciling"],
  ["one refuses and one is unreachable", "DFU", "Reconciling"],
  ["one waits", "DW", "Reconciling"],
  ["one has not proved the Secret", "DP", "Reconciling"],
  [
    "the spec contains something that the user might not intend",
    "D",
    "Ready,Warning",
    { warnings: [warning] },
  ],
  ["one leaves", "DL", "Reconciling"],
  ["one refuses", "DF", ""],
  ["one refuses and another waits", "WF", "Reconciling"],
  ["one waits for a person", "DH", ""],
  ["one waits for a person and another for its turn", "HW", "Reconciling"],
  ["it is stalled", "DW", "Stalled", { stalled }],
  ["it is paused", "DW", "", { paused: true }],
];
for (const [what, letters, conditions, more] of table)
  test(`${what}: ${conditions || "none"} is True`, () =>
    assert.equal(said(resultsOf(letters, more)), conditions));

/** Available with the default of 90 % of the reachable clusters, or with another number. */
const available: readonly (readonly [
  letters: string,
  expected: boolean,
  least?: number | string,
])[] = [
  ["", false],
  ["D", true],
  ["W", false],
  ["DW", false],
  ["DDW", false],
  ["DDDDDDDDDDDDDDDDDDWW", true],
  ["DDDDDDDDDDDDDDDDDWWW", false],
  ["DDW", true, "60%"],
  ["DDWW", false],
  ["DDDDDDDDDP", true],
  ["DDDDDDDDPP", false],
  ["DDU", true],
  ["DU", false],
  ["DDDDDDDDPP", true, 8],
  ["DDL", true],
];
for (const [letters, expected, minAvailable] of available)
  test(`${letters || "none"}: Available is ${expected}${minAvailable === undefined ? "" : ` with minAvailable ${minAvailable}`}`, () => {
    const { conditions } = statusOf(
      resultsOf(letters, minAvailable === undefined ? {} : { minAvailable }),
    );
    assert.equal(
      conditionOf({ conditions: conditions ?? [] }, "Available")?.status,
      expected ? "True" : "False",
    );
  });

test("keeps the time of the first write of a content through every state, and drops it with another content", () => {
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1000);
  const of = (state: "Waiting" | "Progressing" | "Unreachable", isStarted = false) => [
    { name: "c0", state, isStarted },
  ];
  const first = statusOf(resultsOf("", { clusters: of("Waiting", true) }));
  const startedAt = first.clusters?.[0]?.startedAt;
  assert.equal(startedAt, "2026-11-23T12:00:00Z");
  let status = first;
  for (const [seconds, state] of [
    [10, "Progressing"],
    [20, "Unreachable"],
    [30, "Waiting"],
  ] as const) {
    const clusters = of(state, state === "Progressing");
    status = statusOf(resultsOf("", { clusters, now: at(seconds) }), status);
    assert.equal(status.clusters?.[0]?.startedAt, startedAt, state);
  }
  const next = statusOf(resultsOf("", { clusters: of("Waiting"), version: "8" }), status);
  assert.equal(next.clusters?.[0]?.startedAt, undefined);
});

test("reports Slow if all others have the Secret, and lists the slow cluster", () => {
  const clusters = [
    { name: "a", state: "Done" },
    { name: "b", state: "Progressing", reason: sentence("slow") },
  ] as const;
  const { conditions, failures } = statusOf(resultsOf("", { clusters }));
  assert.equal(conditions?.[0]?.reason, "Slow");
  assert.partialDeepStrictEqual(failures, [{ name: "b", reason: "GPS456" }]);
  for (const state of ["Waiting", "Progressing", "Leaving"] as const) {
    const others = [...clusters, { name: "c", state }];
    const status = statusOf(resultsOf("", { clusters: others }));
    assert.equal(status.conditions?.[0]?.reason, "Progressing", state);
  }
});

for (const [letters, reason] of [
  ["", "NoClusters"],
  ["D", "Done"],
  ["DU", "Unreachable"],
  ["UW", "Progressing"],
  ["DP", "Progressing"],
  ["L", "Progressing"],
  ["DUL", "Progressing"],
  ["DF", "Refused"],
  ["FWL", "Refused"],
] as const)
  test(`${letters || "none"}: the reason is ${reason}`, () =>
    assert.equal(statusOf(resultsOf(letters)).conditions?.[0]?.reason, reason));

test("reports that a cluster waits for a person as a refusal, and not as progress", () => {
  const { conditions } = statusOf(resultsOf("DHW"));
  assert.equal(conditions?.[0]?.reason, "Refused");
});

test("counts each cluster once, but does not count a leaving cluster as selected", () => {
  const status = statusOf(resultsOf("DDWPFUL"));
  assert.equal(status.summary, "2/6");
  assert.deepEqual(status.counts, {
    selected: 6,
    done: 2,
    waiting: 1,
    progressing: 1,
    failed: 1,
    unreachable: 1,
    leaving: 1,
  });
  assert.equal(
    status.conditions?.[0]?.message,
    "2 of 6 clusters have it, 1 waiting, 1 changing, 1 failed, 1 unreachable, 1 leaving",
  );
});

test("law: names exactly the counts above zero in the message of Ready", () => {
  const words = { W: "waiting", P: "changing", F: "failed", U: "unreachable", L: "leaving" };
  const letters = fc.array(fc.constantFrom(...Object.keys(names)), { maxLength: 12 });
  fc.assert(
    fc.property(letters, (all) => {
      const numberOf = (letter: string) => all.filter((its) => its === letter).length;
      const { conditions = [] } = statusOf(resultsOf(all.join("")));
      const [first, ...others] = (conditions[0]?.message ?? "").split(", ");
      assert.equal(first, `${numberOf("D")} of ${all.length - numberOf("L")} clusters have it`);
      const expected = Object.entries(words).map(([letter, word]) => [numberOf(letter), word]);
      assert.deepEqual(
        others,
        expected.filter(([number]) => number !== 0).map((pair) => pair.join(" ")),
      );
    }),
  );
});

test("law: reports Ready only if clusters are selected and all of them have the Secret", () => {
  const letters = fc.array(fc.constantFrom(...Object.keys(names)), { maxLength: 8 });
  fc.assert(
    fc.property(letters, fc.boolean(), (all, paused) => {
      const ready = said(resultsOf(all.join(""), { paused })).startsWith("Ready");
      const whole = all.length > 0 && all.every((letter) => letter === "D");
      assert.equal(ready, whole && !paused);
      assert.ok(said(resultsOf(all.join(""), { paused })).split(",").length === 1);
    }),
  );
});

test("writes the generation of spec to status and to each condition, because kubectl wait and kstatus need it", () => {
  const { observedGeneration, conditions = [] } = statusOf(resultsOf("D", { generation: 4 }));
  assert.equal(observedGeneration, 4);
  assert.equal(conditions.length, 5);
  for (const condition of conditions) assert.equal(condition.observedGeneration, 4, condition.type);
});

test("lists a failed cluster in status.failures until it has the content, even during a new try", () => {
  const reason = "GPS439: 403; let it be written";
  const clusters = [{ name: "c0", state: "Failed", reason }] as const;
  const first = statusOf(resultsOf("", { clusters }));
  const failure = { name: "c0", reason: "GPS439", message: "403; let it be written" };
  assert.deepEqual(first.failures, [{ ...failure, since: "2026-11-23T12:00:00Z" }]);
  assert.deepEqual(statusOf(resultsOf("P"), first).failures, first.failures);
  assert.deepEqual(statusOf(resultsOf("D"), first).failures, []);
});

test("lists a given-up cluster for 30 days, unless it is selected again, and a hundred at most", () => {
  const gone = { name: "gone", reason: sentence("notListed", "x") };
  const { givenUp = [] } = statusOf(resultsOf("D", { givenUp: [gone] }));
  const later = (days: number, more: Partial<FoundClusters> = {}) => {
    const at = new Date(now.getTime() + days * 24 * 3_600_000);
    const status = statusOf(resultsOf("D", { now: at, ...more }), { givenUp });
    return status.givenUp?.map(({ name }) => name);
  };
  assert.deepEqual(later(29.9), ["gone"]);
  assert.equal(later(30.1), undefined);
  assert.equal(later(1, { clusters: [{ name: "gone", state: "Waiting" }] }), undefined);
  const many = Array.from({ length: 150 }, (_, at) => ({ ...gone, name: `g${at}` }));
  assert.deepEqual(
    later(1, { givenUp: many }),
    many.slice(0, 100).map(({ name }) => name),
  );
});

test("keeps the time of a state that does not change", () => {
  const first = statusOf(resultsOf("DW"));
  assert.equal(first.clusters?.[0]?.since, "2026-11-23T12:00:00Z");
  const later = new Date(now.getTime() + 60_000);
  const next = statusOf(resultsOf("DD", { now: later }), first);
  assert.equal(next.clusters?.[0]?.since, "2026-11-23T12:00:00Z");
  assert.equal(next.clusters?.[1]?.since, "2026-11-23T12:01:00Z");
  assert.equal(next.conditions?.[2]?.lastTransitionTime, "2026-11-23T12:00:00Z");
  assert.ok(isSameStatus(statusOf(resultsOf("DW", { now: later }), first), first));
  assert.ok(!isSameStatus(next, first));
  const { conditions, ...rest } = first;
  assert.ok(isSameStatus({ conditions: (conditions ?? []).toReversed(), ...rest }, first));
});

test("replaces a time in the future with the current time", () => {
  const first = statusOf(resultsOf("DL"));
  for (const since of [
    "2026-11-23T13:00:00Z",
    "2999-01-01T00:00:00Z",
    "2026-11-23T12:30:00-01:00",
  ]) {
    const clusters: ClusterStatus[] = [
      { name: "c0", state: "Done", since },
      { name: "c1", state: "Leaving", since },
    ];
    for (const cluster of statusOf(resultsOf("DL"), { ...first, clusters }).clusters ?? [])
      assert.equal(cluster.since, "2026-11-23T12:00:00Z", since);
  }
});

test("when the content changes, sets a new time for Done, but not for Unreachable and Leaving", () => {
  const first = statusOf(resultsOf("DUL"));
  const later = new Date(now.getTime() + 60_000);
  const next = statusOf(resultsOf("DUL", { now: later, version: "8" }), first);
  const since = next.clusters?.map((cluster) => cluster.since);
  assert.deepEqual(since, ["2026-11-23T12:01:00Z", "2026-11-23T12:00:00Z", "2026-11-23T12:00:00Z"]);
});

test("lists every warning in the condition Warning", () => {
  const warnings = [warning, { reason: "EveryProfile", message: "every profile" } as const];
  const { conditions = [] } = statusOf(resultsOf("D", { warnings }));
  const { reason, message } = conditionOf({ conditions }, "Warning") ?? {};
  assert.deepEqual([reason, message], ["EveryNamespace", "every namespace | every profile"]);
});

const spec = { secretRef: { name: "source" }, target: { name: "target" } };
const from = (selector: ClusterProfilesSource["selector"]): FleetSecretSpec => ({
  ...spec,
  clusterProfiles: { namespaces: ["clusters"], selector, clusterManagers: ["a"] },
});

const askings: readonly (readonly [what: string, spec: FleetSecretSpec, reasons: string[]])[] = [
  [
    "labels of namespaces",
    { ...spec, clusterAPI: { namespaceSelector: { matchLabels: { a: "b" } } } },
    [],
  ],
  [
    "conditions on namespaces",
    {
      ...spec,
      clusterAPI: {
        namespaceSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] },
      },
    },
    [],
  ],
  ["every namespace", { ...spec, clusterAPI: { namespaceSelector: {} } }, ["EveryNamespace"]],
  ["labels of profiles", from({ matchLabels: { a: "b" } }), []],
  ["every profile", from({}), ["EveryProfile"]],
  ["every profile, by an empty matchLabels", from({ matchLabels: {} }), ["EveryProfile"]],
];
for (const [what, fleetSpec, reasons] of askings)
  test(`${what}: reports in status ${reasons.join(", ") || "no warnings"}`, () =>
    assert.deepEqual(
      warningsOf(fleetSpec).map(({ reason }) => reason),
      reasons,
    ));

const source = { ok: true, content: contentOf("Opaque", {}), version: "1" } as const;
const missing = { ok: false, reason: "SourceMissing", message: "GPS431" } as const;
const notStalled = { source, halted: false, refusing: [], cut: 0 };
const refusing = Array.from("abcdefg");

const stalls: readonly (readonly [
  what: string,
  given: Partial<Parameters<typeof stalledBy>[0]>,
  reason: string | undefined,
  isReported?: RegExp,
])[] = [
  ["no cluster refuses", {}, undefined],
  ["some refuse, within the limit", { refusing }, undefined],
  ["too many refuse", { halted: true, refusing }, "Halted", /^GPS441: a, b, c, d, e refuse/],
  [
    "status has no room for all",
    { cut: 7 },
    "TooManyClusters",
    /^GPS442: .* 1,000 .*: 7 are not served/,
  ],
  ["too many refuse, and status has no room for all", { halted: true, cut: 7 }, "Halted"],
  ["there is no source", { source: missing }, "SourceMissing", /^GPS431$/],
  [
    "there is no source, and there are other reasons too",
    { source: missing, halted: true, cut: 7 },
    "SourceMissing",
  ],
];
for (const [what, facts, reason, isReported = /^/] of stalls)
  test(`${what}: ${reason ?? "not stalled"}`, () => {
    const by = stalledBy({ ...notStalled, ...facts });
    assert.equal(by?.reason, reason);
    assert.match(by?.message ?? "", isReported);
  });

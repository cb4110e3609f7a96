import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { withdrawNowAnnotation } from "#contract/names.ts";
import { absenceOf, withdrawal, type Absence } from "./grace.ts";
import { noRequests } from "#controller/policy/policy-in-force.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";

const at = (seconds: number) => new Date(1e12 + seconds * 1000);
const absence = (changes: Partial<Absence>): Absence => ({
  since: at(0),
  now: at(10),
  graceSeconds: 30,
  begun: false,
  immediate: false,
  isKept: false,
  lost: [],
  ...changes,
});

const cases: readonly (readonly [
  sentence: string,
  absence: Absence,
  since: Date,
  begins: Date | undefined,
  due: boolean,
])[] = [
  [
    "an absence that is seen for the first time begins now",
    absence({ since: undefined }),
    at(10),
    at(40),
    false,
  ],
  ["a recorded absence continues, even after a restart", absence({}), at(0), at(30), false],
  ["the grace period ends after its full length", absence({ now: at(30) }), at(0), at(30), true],
  [
    "the grace period does not end 0.1 s too early",
    absence({ now: at(29.9) }),
    at(0),
    at(30),
    false,
  ],
  [
    "without a grace period the withdrawal begins at once",
    absence({ since: undefined, graceSeconds: 0 }),
    at(10),
    at(10),
    true,
  ],
  [
    "an immediate withdrawal ends the grace period, and is recorded",
    absence({ immediate: true }),
    at(-20),
    at(10),
    true,
  ],
  ["a withdrawal that has begun is not postponed", absence({ begun: true }), at(0), at(30), true],
  [
    "a clock that was set back does not extend the grace period",
    absence({ since: at(3600) }),
    at(10),
    at(40),
    false,
  ],
  [
    "entries that are kept never leave by themselves",
    absence({ isKept: true, now: at(1e6) }),
    at(0),
    undefined,
    false,
  ],
  [
    "entries that are kept leave on request",
    absence({ isKept: true, immediate: true }),
    at(-20),
    at(10),
    true,
  ],
  [
    "a removal of kept entries continues",
    absence({ isKept: true, begun: true }),
    at(0),
    at(30),
    true,
  ],
];
for (const [sentence, input, since, begins, due] of cases) {
  test(`grace: ${sentence}`, () =>
    assert.deepEqual(withdrawal(input), { since, begins, due, lost: [] }));
}

const secret = (intent: string, annotations: Record<string, string> = {}): V1Secret => ({
  metadata: { annotations, labels: { "app.kubernetes.io/managed-by": "global-pull-secret" } },
  data: { revision: btoa("3"), intent: btoa(intent) },
});
const setting = {
  now: () => at(10),
  policy: policyWith(),
  requests: noRequests,
};
const absenceWith = (changes: Partial<Snapshot>) =>
  absenceOf("additional", { daemonSet: {}, ...changes } as Snapshot, setting);
const foreign = { metadata: {}, data: {} };

const begun: readonly (readonly [sentence: string, found: Absence, begun: boolean])[] = [
  ["nodes keep entries that are in force", absenceWith({ global: secret("apply") }), false],
  ["nodes keep entries with the intent `hold`", absenceWith({ global: secret("hold") }), false],
  ["nodes keep their entries when someone deleted global-pull-secret", absenceWith({}), false],
  ["a removal that has begun continues", absenceWith({ global: secret("release") }), true],
  [
    "no grace period begins if only the state Secret is left",
    absenceWith({ daemonSet: undefined }),
    true,
  ],
  [
    "no grace period delays a removal if the state Secret belongs to someone else",
    absenceWith({ global: secret("apply"), state: foreign }),
    true,
  ],
];
for (const [sentence, absence, expected] of begun) {
  test(`grace: ${sentence}`, () => assert.equal(absence.begun, expected));
}

test("skips the grace period on request of GlobalPullSecret, and for a withdrawal by spec", () => {
  const immediate = (changes: Partial<typeof setting>) =>
    absenceOf("additional", { daemonSet: {} } as Snapshot, { ...setting, ...changes }).immediate;
  const withdrawn = { ...policyWith(), managementState: "Withdrawn" } as const;
  const requests = { ...noRequests, withdrawNow: true };
  assert.deepEqual(
    [immediate({}), immediate({ requests }), immediate({ policy: withdrawn })],
    [false, true, true],
  );
});

test("skips the grace period when the annotation on global-pull-secret is exactly true", () => {
  const immediate = (value: string) =>
    absenceWith({ global: secret("apply", { [withdrawNowAnnotation]: value }) }).immediate;
  assert.deepEqual(
    [immediate("true"), immediate("false"), immediate(""), absenceWith({}).immediate],
    [true, false, false, false],
  );
});

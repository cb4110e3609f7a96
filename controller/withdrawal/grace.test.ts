import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { absenceOf, withdrawal, type Absence } from "./grace.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";

const at = (seconds: number) => new Date(1e12 + seconds * 1000);
const absence = (changes: Partial<Absence>): Absence => ({
  since: at(0),
  now: at(10),
  graceSeconds: 30,
  begun: false,
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

const secret = (intent: string): V1Secret => ({
  metadata: { labels: { "app.kubernetes.io/managed-by": "global-pull-secret" } },
  data: { revision: btoa("3"), intent: btoa(intent) },
});
const absenceWith = (changes: Partial<Snapshot>) =>
  absenceOf("additional", { daemonSet: {}, ...changes } as Snapshot, {
    now: () => at(10),
    policy: policyWith(),
  });

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
];
for (const [sentence, absence, expected] of begun) {
  test(`grace: ${sentence}`, () => assert.equal(absence.begun, expected));
}

test("without the right to record its beginning, gives no grace period", () => {
  const state = { metadata: {}, data: {} };
  const { due, begins } = withdrawal(absenceWith({ global: secret("apply"), state }));
  assert.deepEqual([due, begins], [true, at(10)]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type {
  DeliverySpec,
  GlobalPullSecret,
  GlobalPullSecretSpec,
} from "#api/global-pull-secret.ts";
import { parseConfig } from "./config.ts";
import { allowedDefaults, defaults, beyondLimits } from "./defaults.ts";
import type { DeliveryMode } from "#contract/names.ts";
import type { DeliveryPolicy } from "./policy.ts";
import { inForce, readAccepted, type AcceptedSpec } from "./policy-in-force.ts";
import { policyOf } from "./spec.ts";
import { policyWith } from "./policy.fixture.ts";

function installedBy(...argv: string[]) {
  const parsed = parseConfig(argv);
  assert.ok(parsed.ok);
  return parsed.value.installed;
}
const installed = installedBy("--protect", "platform.example");
const object = (spec?: GlobalPullSecretSpec, annotations = {}): GlobalPullSecret =>
  ({ metadata: { name: "cluster", annotations }, ...(spec && { spec }) }) as GlobalPullSecret;

const remember = (spec: GlobalPullSecretSpec, sourcesFrom = "u"): AcceptedSpec => ({
  spec,
  sourcesFrom,
});

test("derives the same policy from an empty spec, no spec, no object and the written-out defaults", () => {
  const standard = inForce(installed, undefined, undefined).policy;
  for (const spec of [undefined, {}, defaults])
    assert.deepEqual(inForce(installed, object(spec), undefined).policy, standard);
});

test("passes every field of spec to the policy, and adds the installer's protected registries to those of spec", () => {
  const spec = {
    managementState: "Withdrawn",
    conflictPolicy: "PreferOriginal",
    protectedRegistries: ["quay.io"],
    sources: [{ name: "team-a", secretRef: { name: "team-a-pull" } }],
    delivery: { mode: "Reread" },
    rollout: { maxUnavailable: 3, maxFailures: "2%", probation: "1m30s", minInterval: "1h0m0s" },
    withdrawal: { onDelete: "Keep", grace: "0s", deadline: "2h", forgetAfter: "3h" },
  } as const;
  const { policy } = inForce(installed, object(spec), undefined);
  assert.deepEqual(policy, {
    ...policyWith(),
    managementState: "Withdrawn",
    sources: [{ name: "team-a", secretName: "team-a-pull", priority: 0 }],
    merge: { conflicts: "original", protect: ["platform.example", "quay.io"] },
    rollout: {
      maxUnavailable: 3,
      maxFailures: "2%",
      probationSeconds: 90,
      minIntervalSeconds: 3600,
    },
    withdrawal: {
      onDelete: "Keep",
      graceSeconds: 0,
      deadlineSeconds: 7200,
      forgetAfterSeconds: 10_800,
    },
    agent: { ...policyWith().agent, delivery: { mode: "Reread" } },
  });
});

/** A spec in which this duration is not valid, and its problem. */
function wrongDuration(field: string): readonly [spec: unknown, problem: RegExp] {
  const [part = "", name = ""] = field.split(".");
  const problem = new RegExp(`^spec\\.${field}: is not a valid duration[^|]*$`);
  return [{ [part]: { [name]: "soon" } }, problem];
}

const wrongFields: readonly (readonly [spec: unknown, problem: RegExp])[] = [
  [
    { rollout: { maxFailures: "101%" } },
    /^spec\.rollout\.maxFailures: .* percentage from 0% to 100%$/,
  ],
  [
    { rollout: { maxUnavailable: 0 } },
    /^spec\.rollout\.maxUnavailable: .* number of nodes from 1 /,
  ],
  [
    { verification: { images: ["a.io/x", "a b"] } },
    /^spec\.verification\.images\[1\]: .* image name/,
  ],
  ...["rollout.probation", "rollout.minInterval", "verification.interval"].map(wrongDuration),
  ...["withdrawal.grace", "withdrawal.deadline", "withdrawal.forgetAfter"].map(wrongDuration),
  [{ sources: 5 }, /^spec: does not match this version's CRD; apply manifests\/crds/],
];
for (const [spec, expected] of wrongFields)
  test(`reports a field that cannot be followed, and keeps the defaults: ${JSON.stringify(spec)}`, () => {
    const { policy, problems } = inForce(
      installed,
      object(spec as GlobalPullSecretSpec),
      undefined,
    );
    assert.match(problems.join("|"), expected);
    assert.deepEqual(policy, inForce(installed, undefined, undefined).policy);
  });

test("F54: reports protected registries that would protect nothing, or far less than it seems", () => {
  const { problems } = inForce(
    installed,
    object({ protectedRegistries: ["quay.io", "*", "10.0.0.0/8"] }),
    undefined,
  );
  assert.deepEqual(
    problems.map((line) => line.replace(/;.*/, "")),
    [
      "spec.protectedRegistries[1]: means only hosts without a dot, because * matches one part of a name",
      "spec.protectedRegistries[2]: is a range of addresses, which protects none of them",
    ],
  );
});

const deliveries: readonly (readonly [DeliverySpec, DeliveryPolicy])[] = [
  [{ mode: "Restart" }, { mode: "Restart" }],
  [{ mode: "CredentialProvider" }, { mode: "CredentialProvider", scope: "All" }],
  [
    { mode: "CredentialProvider", credentialProvider: { scope: "Annotated" } },
    { mode: "CredentialProvider", scope: "Annotated" },
  ],
  // Only an older CRD allows a scope in this mode.
  [{ mode: "Reread", credentialProvider: { scope: "Annotated" } }, { mode: "Reread" }],
];
for (const [delivery, policy] of deliveries)
  test(`translates delivery ${JSON.stringify(delivery)} to ${JSON.stringify(policy)}`, () => {
    const all = installedBy("--delivery-modes", "Restart,Reread,CredentialProvider");
    assert.deepEqual(inForce(all, object({ delivery }), undefined).policy.agent.delivery, policy);
  });

const asked = (rollout: GlobalPullSecretSpec["rollout"], mode?: DeliveryMode) =>
  ({ ...(rollout && { rollout }), ...(mode && { delivery: { mode } }) }) as GlobalPullSecretSpec;
const limits: readonly (readonly [flags: string, spec: GlobalPullSecretSpec, beyond: boolean])[] = [
  ["--max-unavailable-limit 20%", asked({ maxUnavailable: "20%" }), false],
  ["--max-unavailable-limit 20%", asked({ maxUnavailable: "21%" }), true],
  ["--max-unavailable-limit 20%", asked({ maxUnavailable: 1 }), true],
  ["--max-unavailable-limit 3", asked({ maxUnavailable: 3 }), false],
  ["--max-unavailable-limit 3", asked({ maxUnavailable: 4 }), true],
  ["--max-unavailable-limit 100%", asked({ maxUnavailable: 1000 }), false],
  ["--delivery-modes Reread", asked(undefined, "Reread"), false],
  ["--delivery-modes Reread", asked(undefined, "Restart"), true],
  ["--max-unavailable-limit 100%", asked(undefined, "CredentialProvider"), true],
  ["--delivery-modes Reread,CredentialProvider", asked(undefined, "CredentialProvider"), false],
];
for (const [flags, spec, beyond] of limits)
  test(`${JSON.stringify(spec)} is ${beyond ? "beyond" : "within"} ${flags}`, () => {
    const bounded = installedBy(...flags.split(" "));
    const otherFields = {
      rollout: { minInterval: "7s" },
      delivery: { mode: bounded.limits.deliveryModes[0] },
    };
    const accepted = {
      ...allowedDefaults(bounded.limits),
      ...otherFields,
      rollout: { ...allowedDefaults(bounded.limits).rollout, minInterval: "7s" },
    } as GlobalPullSecretSpec;
    const before = policyOf(bounded, accepted);
    assert.ok(before.ok);
    const outcome = inForce(bounded, object(spec), remember(accepted));
    assert.equal(outcome.problems.length, beyond ? 1 : 0);
    // The earlier policy stays as a whole, also after a restart, because the state records it.
    if (beyond) assert.deepEqual(outcome.policy, before.policy);
    const again = inForce(bounded, object(spec), outcome.accepted);
    assert.deepEqual(again.policy, outcome.policy);
  });

test("law: keeps the default policy within any limits", () =>
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom<DeliveryMode[]>("Restart", "Reread", "CredentialProvider"), {
        minLength: 1,
      }),
      fc.oneof(
        fc.integer({ min: 1, max: 99 }),
        fc.integer({ min: 1, max: 100 }).map((n) => `${n}%`),
      ),
      (deliveryModes, maxUnavailable) => {
        const bounds = { deliveryModes, maxUnavailable } as const;
        assert.deepEqual(beyondLimits(bounds, allowedDefaults(bounds)), []);
      },
    ),
  ));

test("law: always has a policy, whatever is in the object or in the state", () =>
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (spec, accepted) => {
      const globalPullSecret = { metadata: {}, spec: spec ?? {} } as unknown as GlobalPullSecret;
      const acceptedSpec = readAccepted(installed, { policy: accepted, sourcesFrom: "u" });
      const { policy } = inForce(installed, globalPullSecret, acceptedSpec);
      assert.ok(policy.merge.protect.includes("platform.example"));
    }),
  ));

test("keeps the last accepted policy during a pause, and reports that another policy waits", () => {
  const spec = { rollout: { maxUnavailable: 2 } };
  const accepted = remember(spec);
  const same = { ...spec, managementState: "Paused" } as const;
  assert.equal(inForce(installed, object(same), accepted).waits, false);
  const other = { rollout: { maxUnavailable: 5 }, managementState: "Paused" } as const;
  const { policy, waits, accepted: nextAccepted } = inForce(installed, object(other), accepted);
  assert.deepEqual(
    [policy.rollout.maxUnavailable, policy.managementState, waits],
    [2, "Paused", true],
  );
  assert.equal(
    inForce(installed, object({ rollout: { maxUnavailable: 5 } }), nextAccepted).policy.rollout
      .maxUnavailable,
    5,
  );
});

test("during a pause, reports a spec that is not allowed, and not that it waits", () => {
  const spec = { rollout: { maxFailures: "101%" }, managementState: "Paused" } as const;
  const { waits, problems } = inForce(installed, object(spec), remember({}));
  assert.deepEqual([waits, problems.length], [false, 1]);
});

test("records a pause and a withdrawal whose other fields cannot be followed, so that they last without the object", () => {
  const rollout = { maxFailures: "101%" };
  for (const managementState of ["Paused", "Withdrawn"] as const) {
    const { accepted } = inForce(installed, object({ managementState, rollout }), remember({}));
    assert.equal(inForce(installed, undefined, accepted).policy.managementState, managementState);
  }
});

test("carries out a withdrawal even if other fields of the spec are not allowed", () => {
  const bounded = installedBy("--max-unavailable-limit", "20%");
  const spec = { managementState: "Withdrawn", rollout: { maxUnavailable: "90%" } } as const;
  const { policy, problems } = inForce(bounded, object(spec), undefined);
  assert.deepEqual([policy.managementState, policy.rollout.maxUnavailable], ["Withdrawn", "10%"]);
  assert.match(problems.join(), /^spec\.rollout\.maxUnavailable: 90% exceeds .*; set 20% or less$/);
});

test("follows an object without sources if no object is known that named the accepted ones", () => {
  const accepted = { spec: { sources }, sourcesFrom: undefined };
  const { policy, orphans } = inForce(installed, declared("v"), accepted);
  assert.deepEqual([policy.sources, orphans], [[], []]);
});

test("keeps the policy, a pause and a withdrawal without an object", () => {
  for (const managementState of ["Managed", "Paused", "Withdrawn"] as const) {
    const accepted = remember({ managementState, rollout: { maxUnavailable: 2 } });
    const { policy, accepted: nextAccepted } = inForce(installed, undefined, accepted);
    assert.deepEqual([policy.managementState, policy.rollout.maxUnavailable], [managementState, 2]);
    assert.equal(nextAccepted, accepted);
  }
});

test("reads the request for a retry from the annotation", () => {
  const { retry } = inForce(installed, object({}, { "globalpullsecret.io/retry": "2" }), undefined);
  assert.equal(retry, "2");
});

const sources = [{ name: "team-a", secretRef: { name: "team-a-pull" } }];
const another = [{ name: "team-b", secretRef: { name: "team-b-pull" } }];
/** The object with this uid, with the API server's defaults. */
const declared = (uid: string, spec?: GlobalPullSecretSpec): GlobalPullSecret =>
  ({ metadata: { uid }, spec: { ...defaults, ...spec } }) as GlobalPullSecret;

const takenOver: readonly (readonly [
  what: string,
  now: GlobalPullSecret | undefined,
  names: string,
  orphans: string,
])[] = [
  ["the same object, which names no source any more", declared("u"), "", ""],
  ["another object with the same name", declared("v"), "team-a", "team-a"],
  [
    "another object that is paused",
    declared("v", { managementState: "Paused" }),
    "team-a",
    "team-a",
  ],
  ["another object that is withdrawn", declared("v", { managementState: "Withdrawn" }), "", ""],
  ["another object that names other sources", declared("v", { sources: another }), "team-b", ""],
  ["no object", undefined, "team-a", ""],
];
for (const [what, now, names, orphans] of takenOver)
  test(`with ${what} after accepted sources, the sources in force are: ${names || "none"}`, () => {
    const outcome = inForce(installed, now, remember({ sources }));
    assert.deepEqual(outcome.policy.sources.map(({ name }) => name).join(), names);
    assert.equal(outcome.orphans.join(), orphans);
    // A second read, or a restart, gives the same result.
    const again = inForce(installed, now, outcome.accepted);
    assert.deepEqual([again.policy, again.orphans], [outcome.policy, outcome.orphans]);
  });

test("keeps the sources of a deleted object when another object that is paused names others, and then none", () => {
  const paused = declared("v", { managementState: "Paused", sources: another });
  const { accepted } = inForce(installed, paused, remember({ sources }));
  const { policy, orphans } = inForce(installed, declared("v"), accepted);
  assert.deepEqual([policy.sources.map(({ name }) => name), orphans], [["team-a"], ["team-a"]]);
});

const scoped = {
  delivery: { mode: "CredentialProvider", credentialProvider: { scope: "Annotated" } },
  sources,
} as const;

for (const [what, now, flags] of [
  ["without an object", undefined, "--delivery-modes Restart,CredentialProvider"],
  ["without an object, if the mode is not allowed any more", undefined, "--delivery-modes Reread"],
  ["if the mode is not allowed any more", declared("u", scoped), "--delivery-modes Restart"],
] as const)
  test(`keeps scope Annotated, so that not every pod gets the credentials: ${what}`, () => {
    const limited = installedBy(...flags.split(" "));
    const acceptedSpec = readAccepted(limited, { policy: scoped, sourcesFrom: "u" });
    const { policy, accepted } = inForce(limited, now, acceptedSpec);
    assert.deepEqual(policy.agent.delivery, { mode: "CredentialProvider", scope: "Annotated" });
    assert.equal(policy.sources.length, 1);
    assert.deepEqual(inForce(limited, now, accepted).policy, policy);
    const [mode = "Restart"] = limited.limits.deliveryModes;
    const other = inForce(limited, declared("u", { delivery: { mode } }), accepted);
    assert.equal(other.policy.agent.delivery.mode, mode);
  });

for (const [what, flags, spec, mode, maxUnavailable] of [
  ["maxUnavailable", "--max-unavailable-limit 20%", { maxUnavailable: "90%" }, "Reread", "10%"],
  ["maxUnavailable", "--max-unavailable-limit 3", { maxUnavailable: "20%" }, "Reread", 3],
  ["the mode", "--delivery-modes Restart", { maxUnavailable: "20%" }, "Restart", "20%"],
] as const)
  test(`keeps the sources and the allowed fields if the installer lowers the limit of ${what}: ${flags}`, () => {
    const limited = installedBy(...flags.split(" "));
    const rollout = { ...spec, probation: "2m" };
    const whole = { sources, delivery: { mode: "Reread" }, rollout } as const;
    for (const acceptedSpec of [
      readAccepted(limited, { policy: whole, sourcesFrom: "u" }),
      remember(whole),
    ]) {
      const { policy, problems } = inForce(limited, declared("u", whole), acceptedSpec);
      assert.equal(problems.length, 1);
      const names = policy.sources.map(({ name }) => name);
      assert.deepEqual([names, policy.agent.delivery.mode], [["team-a"], mode]);
      assert.equal(policy.rollout.probationSeconds, 120);
      assert.equal(policy.rollout.maxUnavailable, maxUnavailable);
    }
  });

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { conflicts, policyDeclarer, tryPolicy, wantedFor } from "./declare.ts";

type Fields = Readonly<Record<string, object>>;

/** An object whose fields these managers declare by server-side apply. */
function object(
  spec: GlobalPullSecretSpec,
  owners: Readonly<Record<string, Fields>> = {},
  generation = 1,
): GlobalPullSecret {
  const managedFields = Object.entries(owners).map(([manager, fields]) => ({
    manager,
    operation: "Apply",
    fieldsV1: { "f:spec": fields },
  }));
  return {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "GlobalPullSecret",
    metadata: {
      name: "cluster",
      uid: "u",
      resourceVersion: `${generation}`,
      generation,
      managedFields,
    },
    spec,
  };
}

const state = { "f:managementState": {} };
const [ours, plugin, git] = ["global-pull-secret-policy", "kubectl-pull-secret", "argocd"];
const refusal = (status: number, detail = "no", denied = false) =>
  new ApiError({
    status,
    reason: "No",
    method: "PATCH",
    path: globalPullSecretPath,
    detail,
    denied,
  });

const unknownField =
  "failed to create typed patch object (/cluster; globalpullsecret.io/v1alpha1, Kind=GlobalPullSecret): .spec.rollout.maxUnavilble: field not declared in schema";
const denial = 'admission webhook "v.example" denied the request: no';
/** Refusals that the same request would get again. A webhook can choose any status. */
const refusals = [
  refusal(400),
  refusal(403),
  refusal(422),
  refusal(500, unknownField),
  ...[404, 409, 429, 500].map((status) => refusal(status, denial, true)),
];

/** Answers each apply with the result of `answer`, and records the applied specs. */
class Fake {
  readonly sent: unknown[] = [];
  readonly options: object[] = [];
  /** The resourceVersion of the object to which each apply belongs. */
  readonly versions: unknown[] = [];
  seconds = 0;
  answer: (spec: GlobalPullSecretSpec) => GlobalPullSecret = (spec) => object(spec, {}, 2);
  readonly cluster = {
    apply: async (_: string, { spec, metadata }: Partial<GlobalPullSecret>, options: object) => {
      this.sent.push(spec);
      this.versions.push(metadata?.resourceVersion);
      this.options.push(options);
      return this.answer(spec ?? {});
    },
  } as unknown as Cluster;
  declarer(policy: GlobalPullSecretSpec) {
    return policyDeclarer(this.cluster, policy, () => this.seconds * 1000);
  }
}

const policy = { managementState: "Paused", conflictPolicy: "PreferOriginal" } as const;

test("declares the policy once, and again after a change by others", async () => {
  const fake = new Fake();
  const declare = fake.declarer(policy);
  const { object: declared, problems } = await declare(object({}));
  assert.deepEqual([fake.sent, problems], [[policy], []]);
  assert.deepEqual(fake.options, [{ manager: ours, force: true }]);
  await declare({ ...declared, metadata: { ...declared.metadata, resourceVersion: "9" } });
  assert.equal(fake.sent.length, 1);
  await declare(object({ managementState: "Managed" }, {}, 3));
  assert.deepEqual(fake.sent, [policy, policy]);
});

test("follows an object whose generation went back because etcd was restored", async () => {
  const fake = new Fake();
  const declare = fake.declarer({});
  await declare(object({ managementState: "Managed" }, {}, 9));
  const restored = object({ managementState: "Withdrawn" }, {}, 5);
  assert.equal((await declare(restored)).object, restored);
  assert.deepEqual(fake.sent, []);
});

test("without a policy, only releases the fields that an earlier policy declared", async () => {
  const people = object({ managementState: "Paused" }, { [plugin]: state, "kubectl-edit": {} });
  const fake = new Fake();
  assert.equal((await fake.declarer({})(people)).object, people);
  assert.deepEqual(fake.sent, []);
  const withdrawn = object({ managementState: "Withdrawn" }, { [ours]: state });
  const { object: released } = await fake.declarer({})(withdrawn);
  assert.deepEqual([fake.sent, released.spec], [[undefined], {}]);
});

for (const [held, owners, wanted] of [
  ["Paused", { [plugin]: state }, { conflictPolicy: "PreferOriginal" }],
  ["Withdrawn", { [plugin]: state, [ours]: state }, { conflictPolicy: "PreferOriginal" }],
  ["Managed", { [plugin]: state }, policy],
  ["Withdrawn", { "kubectl-edit": state }, policy],
  ["Paused", { [ours]: state }, policy],
] as const)
  test(`declares ${JSON.stringify(wanted)} after ${Object.keys(owners).join()} declared ${held}`, () => {
    assert.deepEqual(wantedFor(policy, object({ managementState: held }, owners)), wanted);
  });

const source = (name: string) => ({ name, secretRef: { name: "s" } });
const item = { 'k:{"name":"a"}': { "f:secretRef": {} } };

for (const [what, wanted, theirs, found] of [
  ["a field", policy, state, ["spec.managementState"]],
  ["another field", policy, { "f:rollout": { "f:probation": {} } }, []],
  [
    "a source",
    { sources: [source("a")] },
    { "f:sources": item },
    ["spec.sources[a].secretRef.name"],
  ],
  ["another source", { sources: [source("b")] }, { "f:sources": item }, []],
  [
    "a registry",
    { protectedRegistries: ["a.example", "b.example"] },
    { "f:protectedRegistries": { 'v:"b.example"': {} } },
    ["spec.protectedRegistries[b.example]"],
  ],
] as const)
  test(`reports the fields that Git also declares, and does not change them: ${what}`, async () => {
    const fake = new Fake();
    const live = object({}, { [git]: theirs });
    const lines = found.map(
      (one) => `${one}: declared by the installer's --policy and by "argocd"`,
    );
    assert.deepEqual(conflicts(wanted, live), lines);
    const { problems } = await fake.declarer(wanted)(live);
    assert.deepEqual([problems, fake.sent.length], [lines, found.length === 0 ? 1 : 0]);
  });

const scoped = {
  delivery: { mode: "CredentialProvider", credentialProvider: { scope: "Annotated" } },
} as const;
const delivery = { "f:delivery": {} };
const reread = { delivery: { mode: "Reread" } } as const;

for (const [what, wanted, owner, sent] of [
  [
    "keeps scope Annotated if the policy declares no delivery any more",
    {},
    ours,
    [scoped, undefined],
  ],
  ["keeps scope Annotated beside the policy's other fields", policy, ours, [scoped, policy]],
  ["leaves Git's scope Annotated unchanged", policy, git, [policy]],
  ["leaves a scope Annotated that Git declares too", {}, [ours, git], [undefined]],
  ["ends the policy's scope if the policy declares another delivery", reread, ours, [reread]],
  [
    "ends the controller's scope if the policy declares another delivery",
    reread,
    fieldManager,
    [reread],
  ],
] as const)
  test(what, async () => {
    const fake = new Fake();
    fake.answer = (spec) => object(spec, { [ours]: delivery }, 2);
    const owners = Object.fromEntries([owner].flat().map((one) => [one, delivery]));
    await fake.declarer(wanted)(object(scoped, owners));
    assert.deepEqual(fake.sent, sent);
    assert.deepEqual(fake.versions, sent.length === 2 ? ["1", "2"] : ["1"]);
    const managers = sent.length === 2 ? [fieldManager, ours] : [ours];
    assert.deepEqual(
      fake.options,
      managers.map((manager) => ({ manager, force: true })),
    );
  });

test("does not report another tool's name if the name contains control characters", () => {
  const [line] = conflicts(policy, object({}, { "\u001b[31m": state }));
  assert.match(line ?? "", /and by "another tool"$/);
});

test("reports a refused policy, follows the spec as it is, and asks again after 30 s", async () => {
  const fake = new Fake();
  const declare = fake.declarer(policy);
  fake.answer = () => {
    throw refusal(422, "spec.managementState:\nwrong");
  };
  const live = object({});
  for (const seconds of [0, 29]) {
    fake.seconds = seconds;
    const { object: followed, problems, again } = await declare(live);
    assert.equal(followed, live);
    assert.match(
      problems.join(),
      /^--policy: the API server refuses it: spec\.managementState: wrong; /,
    );
    assert.deepEqual(again, { seconds: 30 });
  }
  assert.equal(fake.sent.length, 1);
  fake.seconds = 31;
  fake.answer = (spec) => object(spec, {}, 2);
  assert.deepEqual((await declare(live)).problems, []);
});

for (const error of refusals)
  test(`reports a refusal with ${error.status} (${error.detail}), before and after the controller gets the Lease`, async () => {
    const fake = new Fake();
    fake.answer = () => {
      throw error;
    };
    const line = /^(?:Error: GPS333: )?--policy: the API server refuses it: /;
    await assert.rejects(tryPolicy(fake.cluster, policy), line);
    const { problems, again } = await fake.declarer(policy)(object({}));
    assert.match(problems.join(), line);
    assert.deepEqual(again, { seconds: 30 });
  });

test("hides a credential that a webhook quotes in its refusal", async () => {
  const key = "dXNlcjpwYXNzd29yZDEyMzQ1Njc4";
  for (const status of [403, 500]) {
    const fake = new Fake();
    fake.answer = () => {
      throw refusal(status, `the webhook "v" denied the request: "auth":"${key}"`, status === 403);
    };
    const { problems } = await fake.declarer(policy)(object({}));
    assert.match(problems.join(), /the webhook "v" denied the request: "auth":"…"/);
  }
});

test("reads again when another client writes first", async () => {
  const fake = new Fake();
  const declare = fake.declarer(policy);
  fake.answer = () => {
    throw refusal(409);
  };
  const { object: followed, problems, again } = await declare(object({}));
  assert.deepEqual([followed.spec, problems, again], [policy, [], { seconds: 1 }]);
});

for (const error of [
  refusal(500, 'failed calling webhook "v.example": connection refused'),
  refusal(429),
  refusal(404),
  refusal(0),
])
  test(`follows the installer's fields and reports the failure after ${error.status} (${error.detail})`, async () => {
    const fake = new Fake();
    const declare = fake.declarer(policy);
    fake.answer = () => {
      throw error;
    };
    const live = object(
      { managementState: "Withdrawn", conflictPolicy: "PreferAdditional" },
      {
        [plugin]: state,
      },
    );
    for (const seconds of [0, 29]) {
      fake.seconds = seconds;
      const { object: followed, problems, again } = await declare(live);
      assert.deepEqual(followed.spec, { ...policy, managementState: "Withdrawn" });
      assert.match(problems.join(), /^--policy: in force, but its declaration failed: /);
      assert.deepEqual(again, { seconds: 30 });
    }
    assert.equal(fake.sent.length, 1);
    fake.seconds = 31;
    await declare(live);
    assert.equal(fake.sent.length, 2);
  });

test("tries the policy without a write, and turns a refusal into one line", async () => {
  const fake = new Fake();
  await tryPolicy(fake.cluster, {});
  assert.deepEqual(fake.sent, []);
  await tryPolicy(fake.cluster, policy);
  assert.deepEqual(fake.options, [{ manager: ours, force: true, dryRun: true }]);
  fake.answer = () => {
    throw refusal(422, "one\n two");
  };
  await assert.rejects(tryPolicy(fake.cluster, policy), {
    message:
      "GPS333: --policy: the API server refuses it: one two; correct it (with Helm: the value policy)",
  });
  for (const status of [404, 409, 429, 500, 0]) {
    fake.answer = () => {
      throw refusal(status);
    };
    await assert.rejects(tryPolicy(fake.cluster, policy), ApiError);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { policyManager } from "#kube/client/ownership.ts";
import { globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { stateSecret, noState } from "./objects/state.ts";
import { parseConfig } from "./policy/config.ts";
import { policyReader } from "./policy-reader.ts";

const modes = "--delivery-modes=Restart,CredentialProvider";
const parsed = parseConfig(["--max-unavailable-limit=50%", modes]);
assert.ok(parsed.ok);
const { installed } = parsed.value;

const object = (spec: GlobalPullSecretSpec): GlobalPullSecret => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "GlobalPullSecret",
  metadata: { name: "cluster", uid: "u" },
  spec,
});
const refusal = (status: number) =>
  new ApiError({ status, reason: "No", method: "GET", path: globalPullSecretPath });

/** A cluster with the object (or the error) `found` and the recorded policy `remembered`. */
class Fake {
  readonly #declares: GlobalPullSecretSpec;
  found: GlobalPullSecret | Error | undefined;
  remembered: GlobalPullSecretSpec | Error | undefined;
  making: Error | undefined;
  made = 0;
  seconds = 0;
  readonly warned: string[] = [];
  readonly policyReading;

  constructor(declares: GlobalPullSecretSpec = {}) {
    this.#declares = declares;
    this.policyReading = policyReader({
      cluster: {
        get: async (path: string) => this.#get(path),
        apply: async (_: string, body: object, how: Readonly<{ manager: string }>) =>
          this.#make(body as GlobalPullSecret, how),
      } as unknown as Cluster,
      installed,
      declares,
      log: { warn: (_: object, message: string) => void this.warned.push(message) } as never,
      now: () => new Date(this.seconds * 1000),
    });
  }

  async budget() {
    return (await this.policyReading.read()).policy.rollout.maxUnavailable;
  }

  #get(path: string) {
    if (path === owned.state) {
      if (this.remembered instanceof Error) throw this.remembered;
      return this.remembered && stateSecret({ ...noState, policy: this.remembered });
    }
    if (this.found instanceof Error) throw this.found;
    return this.found;
  }

  #make(body: GlobalPullSecret, { manager }: Readonly<{ manager: string }>) {
    this.made += 1;
    if (this.making !== undefined) throw this.making;
    const { delivery } = this.remembered instanceof Error ? {} : (this.remembered ?? {});
    const scope = this.#declares.delivery === undefined && delivery ? { delivery } : {};
    const isNew = body.metadata.resourceVersion === newborn;
    const byPolicy = isNew ? { ...this.#declares, ...scope } : this.#declares;
    const written = manager === policyManager ? byPolicy : scope;
    assert.deepEqual(body.spec ?? {}, written, "nothing else is written");
    const before = this.found instanceof Error ? undefined : this.found?.spec;
    const spec = { delivery: { mode: "Restart" }, ...before, ...body.spec } as const;
    const fieldsV1 = { "f:spec": body.spec?.delivery ? { "f:delivery": {} } : {} };
    const managedFields = [{ manager, operation: "Apply", fieldsV1 }];
    this.found = {
      ...object(spec),
      metadata: { ...body.metadata, resourceVersion: "7", managedFields },
    };
    return this.found;
  }
}

const asks = (maxUnavailable: string) => ({ rollout: { maxUnavailable } });

test("creates a missing object once, without a spec, and applies the defaults", async () => {
  const fake = new Fake();
  assert.equal(await fake.budget(), "10%");
  assert.equal(await fake.budget(), "10%");
  assert.equal(fake.made, 1);
});

test("applies the defaults while the CRD is missing, and reads again after 30 s or when the watch shows the object", async () => {
  const fake = new Fake();
  fake.found = refusal(404);
  fake.making = refusal(404);
  for (; fake.seconds < 29; fake.seconds += 1) assert.equal(await fake.budget(), "10%");
  assert.equal(fake.made, 1);
  fake.seconds = 31;
  await fake.budget();
  assert.equal(fake.made, 2);
  fake.policyReading.hint();
  await fake.budget();
  assert.equal(fake.made, 3);
  assert.deepEqual(fake.warned, []);
});

test("keeps the policy when a spec exceeds the limits, even after a restart of the controller", async () => {
  const fake = new Fake();
  fake.found = object(asks("30%"));
  assert.equal(await fake.budget(), "30%");
  fake.found = object(asks("60%"));
  const policyReading = await fake.policyReading.read();
  assert.equal(policyReading.policy.rollout.maxUnavailable, "30%");
  assert.match(policyReading.problems.join(), /maxUnavailable/);
  const restarted = new Fake();
  restarted.remembered = asks("30%");
  restarted.found = object(asks("60%"));
  assert.equal(await restarted.budget(), "30%");
});

test("keeps the policy when the object cannot be read, even after a restart, and applies the defaults when the object is deleted", async () => {
  const fake = new Fake();
  fake.remembered = asks("30%");
  fake.found = refusal(403);
  assert.equal(await fake.budget(), "30%");
  fake.found = undefined;
  assert.equal(await fake.budget(), "10%");
});

test("keeps the policy of a deleted object for 30 s, and then creates the object with the defaults", async () => {
  const fake = new Fake();
  const withdrawn = { ...asks("30%"), managementState: "Withdrawn" } as const;
  fake.found = object(withdrawn);
  await fake.budget();
  for (const gone of [undefined, refusal(404)]) {
    fake.found = gone;
    const { policy, again } = await fake.policyReading.read();
    assert.deepEqual([policy.managementState, again, fake.made], ["Withdrawn", { seconds: 30 }, 0]);
    fake.seconds += 29;
    assert.deepEqual((await fake.policyReading.read()).again, { seconds: 1 });
    fake.found = object(withdrawn);
    assert.equal((await fake.policyReading.read()).again, undefined);
  }
  fake.found = undefined;
  await fake.budget();
  fake.seconds += 30;
  const { policy, again } = await fake.policyReading.read();
  assert.deepEqual([policy.managementState, again, fake.made], ["Managed", undefined, 1]);
});

const scoped = {
  delivery: { mode: "CredentialProvider", credentialProvider: { scope: "Annotated" } },
} as const;
const itsDelivery = { mode: "CredentialProvider", scope: "Annotated" };

for (const [what, declares, delivery] of [
  ["with scope Annotated if this scope was in force", {}, itsDelivery],
  ["with scope Annotated and the installer's other fields", asks("20%"), itsDelivery],
  ["with the installer's delivery", { delivery: { mode: "Restart" } }, { mode: "Restart" }],
] as const)
  test(`creates a deleted object again ${what}`, async () => {
    const fake = new Fake(declares);
    fake.remembered = scoped;
    for (const _ of [1, 2]) {
      const { policy } = await fake.policyReading.read();
      assert.deepEqual(policy.agent.delivery, delivery);
      const { rollout } = declares as GlobalPullSecretSpec;
      assert.equal(policy.rollout.maxUnavailable, rollout?.maxUnavailable ?? "10%");
    }
  });

test("keeps the earlier policy if the API server refuses to create the object with the installer's fields", async () => {
  const fake = new Fake(asks("20%"));
  fake.remembered = { ...scoped, ...asks("30%") };
  fake.making = refusal(422);
  assert.equal(await fake.budget(), "30%");
  assert.equal(fake.found, undefined);
});

test("decides nothing after a start until the earlier policy is known", async () => {
  const fake = new Fake();
  fake.found = refusal(403);
  fake.remembered = refusal(500);
  await assert.rejects(fake.budget(), / 500 /);
  fake.remembered = asks("30%");
  assert.equal(await fake.budget(), "30%");
});

test("warns when the object cannot be created although the CRD exists, and retries by itself", async () => {
  const fake = new Fake();
  fake.making = refusal(403);
  assert.deepEqual((await fake.policyReading.read()).again, { seconds: 30 });
  assert.equal(fake.warned.length, 1);
  // A run before the end of the pause sends no request, but still schedules the next run.
  assert.deepEqual((await fake.policyReading.read()).again, { seconds: 30 });
  assert.equal(fake.made, 1);
  fake.seconds = 30;
  fake.making = undefined;
  assert.equal((await fake.policyReading.read()).again, undefined);
  assert.equal(fake.made, 2);
});

test("waits at most a minute for a deleted or refused object even if the clock is set back by a year", async () => {
  const year = 365 * 24 * 3600;
  const fake = new Fake();
  fake.seconds = 50 * year;
  fake.found = object({});
  await fake.budget();
  fake.found = undefined;
  await fake.budget();
  fake.seconds -= year;
  assert.deepEqual((await fake.policyReading.read()).again, { seconds: 30 });
  fake.seconds += 30;
  fake.making = refusal(403);
  await fake.budget();
  assert.equal(fake.made, 1);
  fake.seconds -= year;
  for (const seconds of [0, 30, 30]) {
    fake.seconds += seconds;
    await fake.budget();
  }
  assert.equal(fake.made, 2);
});

for (const status of [503, 500, 409, 404, 0])
  test(`never applies the defaults before the installer's policy, even if the object cannot be created (${status})`, async () => {
    const fake = new Fake(asks("30%"));
    fake.making = refusal(status);
    assert.equal(await fake.budget(), "30%");
    fake.policyReading.hint();
    fake.making = undefined;
    const { policy, undeclared, object: created } = await fake.policyReading.read();
    assert.deepEqual([policy.rollout.maxUnavailable, undeclared], ["30%", []]);
    assert.notEqual(created, undefined);
  });

test("keeps the last policy when the API server refuses to create a deleted object with the installer's policy", async () => {
  const fake = new Fake(asks("30%"));
  fake.found = object(asks("20%"));
  fake.making = refusal(403);
  assert.equal(await fake.budget(), "20%");
  fake.found = undefined;
  await fake.budget();
  fake.seconds += 31;
  for (const _ of [1, 2]) {
    const { policy, undeclared, again } = await fake.policyReading.read();
    assert.deepEqual([policy.rollout.maxUnavailable, undeclared.length], ["20%", 1]);
    assert.deepEqual(again, { seconds: 30 });
  }
  assert.equal(fake.made, 2);
  const restarted = new Fake(asks("30%"));
  restarted.making = refusal(403);
  await assert.rejects(restarted.budget(), / 403 /);
  restarted.remembered = asks("20%");
  assert.equal(await restarted.budget(), "20%");
});

test("declares the installer's policy in an object that has other fields, before it follows the object", async () => {
  const fake = new Fake(asks("30%"));
  fake.found = object({ managementState: "Managed" });
  assert.equal(await fake.budget(), "30%");
  assert.equal(fake.made, 1);
});

test("reports why the installer's policy is not declared, and follows the object", async () => {
  const fake = new Fake(asks("30%"));
  fake.found = object(asks("20%"));
  fake.making = refusal(422);
  const { policy, undeclared, problems, again } = await fake.policyReading.read();
  assert.equal(policy.rollout.maxUnavailable, "20%");
  assert.deepEqual([undeclared.length, problems, again], [1, [], { seconds: 30 }]);
});

test("follows the installer's fields and the spec's other fields while another client writes first", async () => {
  const fake = new Fake(asks("30%"));
  fake.found = object({ managementState: "Withdrawn", ...asks("50%") });
  fake.making = refusal(409);
  const { policy, undeclared, again } = await fake.policyReading.read();
  assert.deepEqual([policy.managementState, policy.rollout.maxUnavailable], ["Withdrawn", "30%"]);
  assert.deepEqual([undeclared, again], [[], { seconds: 1 }]);
});

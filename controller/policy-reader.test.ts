import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { noState } from "./objects/state.fixture.ts";
import { stateSecret } from "./objects/state.ts";
import { parseConfig } from "./policy/config.ts";
import { defaults } from "./policy/defaults.ts";
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

/** A cluster with the object (or the error) `object` and the recorded policy `remembered`. */
class Fake {
  object: GlobalPullSecret | Error | undefined;
  remembered: GlobalPullSecretSpec | Error | undefined;
  making: Error | undefined;
  /** The specs of the attempts to create the object. */
  readonly attemptedSpecs: (GlobalPullSecretSpec | undefined)[] = [];
  seconds = 0;
  readonly warned: string[] = [];
  readonly reader;

  constructor() {
    this.reader = policyReader({
      cluster: {
        get: async (path: string) => this.#get(path),
        apply: async (_: string, body: object, options: object) =>
          this.#make(body as GlobalPullSecret, options),
      } as unknown as Cluster,
      installed,
      log: { warn: (_: object, message: string) => void this.warned.push(message) } as never,
      seconds: () => this.seconds,
    });
  }

  async budget() {
    return (await this.reader.read()).policy.rollout.maxUnavailable;
  }

  #get(path: string) {
    if (path === owned.state) {
      if (this.remembered instanceof Error) throw this.remembered;
      return this.remembered && stateSecret({ ...noState, policy: this.remembered });
    }
    if (this.object instanceof Error) throw this.object;
    return this.object;
  }

  #make({ spec, metadata }: GlobalPullSecret, options: object) {
    assert.equal(metadata.resourceVersion, newborn, "an existing object is never changed");
    assert.deepEqual(options, { manager: fieldManager, force: false });
    this.attemptedSpecs.push(spec);
    if (this.making !== undefined) throw this.making;
    this.object = object({ ...defaults, ...spec });
    return this.object;
  }
}

const asks = (maxUnavailable: string) => ({ rollout: { maxUnavailable } });

for (const [what, missing] of [
  ["the object", undefined],
  ["the CRD", refusal(404)],
] as const)
  test(`creates the object when ${what} has been missing for 30 s, and follows the default policy meanwhile`, async () => {
    const fake = new Fake();
    fake.seconds = 1000;
    fake.object = missing;
    for (let passed = 0; passed < 30; passed += 1, fake.seconds += 1) {
      const { policy, again, object: read } = await fake.reader.read();
      assert.equal(policy.rollout.maxUnavailable, "10%");
      assert.deepEqual(
        [read, again, fake.attemptedSpecs],
        [undefined, { seconds: 30 - passed }, []],
      );
    }
    const created = await fake.reader.read();
    assert.deepEqual([created.object, created.again], [fake.object, undefined]);
    assert.equal(created.policy.rollout.maxUnavailable, "10%");
    await fake.reader.read();
    assert.deepEqual(fake.attemptedSpecs, [undefined]);
  });

test("follows the installer's object, and does not change it, if it appears within 30 s", async () => {
  const fake = new Fake();
  await fake.budget();
  fake.seconds = 29;
  fake.object = object(asks("30%"));
  const { policy, again } = await fake.reader.read();
  assert.deepEqual([policy.rollout.maxUnavailable, again], ["30%", undefined]);
  fake.seconds = 1000;
  assert.equal(await fake.budget(), "30%");
  assert.deepEqual(fake.attemptedSpecs, []);
});

test("law: creates the object only after 30 s without an object, and never changes an object", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          seconds: fc.integer({ min: 0, max: 20 }),
          shows: fc.constantFrom("object", "nothing", "no CRD", "error"),
        }),
      ),
      async (steps) => {
        const fake = new Fake();
        let missing: number | undefined;
        let isKnown = false;
        for (const { seconds, shows } of steps) {
          fake.seconds += seconds;
          const shown = { object: object({}), nothing: undefined, "no CRD": refusal(404) };
          fake.object = shows === "error" ? refusal(500) : shown[shows];
          const isMissing = shows === "nothing" || shows === "no CRD";
          missing = isMissing ? (missing ?? fake.seconds) : undefined;
          const before = fake.attemptedSpecs.length;
          const isRefused = shows === "error" && !isKnown;
          await (isRefused ? assert.rejects(fake.budget(), / 500 /) : fake.budget());
          const isDue = missing !== undefined && fake.seconds - missing >= 30;
          isKnown ||= isDue || shows === "object";
          assert.equal(fake.attemptedSpecs.length - before, isDue ? 1 : 0);
          if (isDue) missing = undefined;
        }
      },
    ),
  ));

test("keeps the policy when a spec exceeds the limits, even after a restart of the controller", async () => {
  const fake = new Fake();
  fake.object = object(asks("30%"));
  assert.equal(await fake.budget(), "30%");
  fake.object = object(asks("60%"));
  const { policy, problems } = await fake.reader.read();
  assert.equal(policy.rollout.maxUnavailable, "30%");
  assert.match(problems.join(), /maxUnavailable/);
  const restarted = new Fake();
  restarted.remembered = asks("30%");
  restarted.object = object(asks("60%"));
  assert.equal(await restarted.budget(), "30%");
});

test("keeps the policy of an object that cannot be read, even after a restart, and does not create the object", async () => {
  const fake = new Fake();
  fake.remembered = asks("30%");
  fake.object = refusal(403);
  for (; fake.seconds < 100; fake.seconds += 10) assert.equal(await fake.budget(), "30%");
  assert.deepEqual(fake.attemptedSpecs, []);
});

test("keeps the policy of a deleted object for 30 s, and then creates the object with this policy", async () => {
  const fake = new Fake();
  const withdrawn = { ...asks("30%"), managementState: "Withdrawn" } as const;
  fake.object = object(withdrawn);
  await fake.budget();
  for (const gone of [undefined, refusal(404)]) {
    fake.object = gone;
    const { policy, again } = await fake.reader.read();
    assert.deepEqual([policy.managementState, again], ["Withdrawn", { seconds: 30 }]);
    fake.seconds += 29;
    assert.deepEqual((await fake.reader.read()).again, { seconds: 1 });
    fake.object = object(withdrawn);
    assert.equal((await fake.reader.read()).again, undefined);
  }
  assert.deepEqual(fake.attemptedSpecs, []);
  fake.object = undefined;
  await fake.budget();
  fake.seconds += 30;
  const { policy, again } = await fake.reader.read();
  assert.deepEqual([policy.managementState, policy.rollout.maxUnavailable], ["Withdrawn", "30%"]);
  assert.deepEqual([again, fake.attemptedSpecs], [undefined, [withdrawn]]);
});

test("creates a deleted object again with the recorded policy after a restart, with scope Annotated and the sources", async () => {
  const recorded = {
    delivery: { mode: "CredentialProvider", credentialProvider: { scope: "Annotated" } },
    protectedRegistries: ["quay.io"],
    sources: [{ name: "team-a", secretRef: { name: "team-a-pull" } }],
    ...asks("30%"),
  } as const;
  const fake = new Fake();
  fake.remembered = recorded;
  for (; fake.seconds < 40; fake.seconds += 10) {
    const { policy, orphans } = await fake.reader.read();
    assert.deepEqual(policy.agent.delivery, { mode: "CredentialProvider", scope: "Annotated" });
    assert.deepEqual([policy.sources.length, orphans], [1, []]);
  }
  assert.deepEqual(fake.attemptedSpecs, [recorded]);
});

test("creates a deleted object with the policy in force, not with a spec that exceeded the limits", async () => {
  const fake = new Fake();
  for (const maxUnavailable of ["30%", "60%"]) {
    fake.object = object(asks(maxUnavailable));
    assert.equal(await fake.budget(), "30%");
  }
  fake.object = undefined;
  for (; fake.seconds < 40; fake.seconds += 10) await fake.budget();
  assert.deepEqual(fake.attemptedSpecs, [{ ...asks("30%"), managementState: "Managed" }]);
});

test("decides nothing after a start until the earlier policy is known", async () => {
  const fake = new Fake();
  fake.object = refusal(403);
  fake.remembered = refusal(500);
  await assert.rejects(fake.budget(), / 500 /);
  fake.remembered = asks("30%");
  assert.equal(await fake.budget(), "30%");
});

for (const status of [0, 403, 500, 504])
  test(`decides nothing while no policy is recorded and the API server answers ${status} to the read of the object`, async () => {
    const fake = new Fake();
    for (; fake.seconds < 100; fake.seconds += 10) {
      fake.object = refusal(status);
      await assert.rejects(fake.budget(), fake.object);
    }
    assert.deepEqual(fake.attemptedSpecs, []);
    fake.object = object({ managementState: "Withdrawn" });
    assert.equal((await fake.reader.read()).policy.managementState, "Withdrawn");
    fake.object = refusal(status);
    assert.equal((await fake.reader.read()).policy.managementState, "Withdrawn");
  });

for (const [status, warnings] of [
  [403, 1],
  [422, 1],
  [500, 1],
  [404, 0],
  [409, 0],
] as const)
  test(`keeps the policy and tries again after 30 s when the API server answers ${status} to the creation, with ${warnings} warnings`, async () => {
    const fake = new Fake();
    fake.remembered = asks("30%");
    fake.making = refusal(status);
    await fake.budget();
    fake.seconds = 30;
    const { policy, again } = await fake.reader.read();
    assert.deepEqual([policy.rollout.maxUnavailable, again], ["30%", { seconds: 30 }]);
    assert.deepEqual([fake.attemptedSpecs.length, fake.warned.length], [1, warnings]);
    fake.seconds = 59;
    // A run before the end of the pause sends no request, but still schedules the next run.
    assert.deepEqual((await fake.reader.read()).again, { seconds: 1 });
    assert.equal(fake.attemptedSpecs.length, 1);
    fake.seconds = 60;
    fake.making = undefined;
    assert.equal((await fake.reader.read()).again, undefined);
    assert.deepEqual(fake.attemptedSpecs, [asks("30%"), asks("30%")]);
  });

/** Steps of a rollout while the API server or admission refuses some of the writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiError } from "#kube/client/api-error.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { objectPath } from "./objects.ts";
import { deployed, isServed, nothingLeft, firstContent, two, World } from "./world.fixture.ts";

const otherImage = (world: World): void => {
  const agent = { ...world.remover.agent, image: "example.invalid/agent:2" };
  Object.assign(world.remover, { agent });
};
const unwritable = ["serviceAccount", "role", "roleBinding", "daemonSet"] as const;
for (const name of unwritable)
  for (const status of [403, 409, 422, 500, 503])
    test(`rolls out and withdraws, and reports the refusal, while each write of the ${name} is answered with ${status}`, async () => {
      const world = await deployed();
      if (name === "daemonSet") otherImage(world);
      else world.delete(owned[name]);
      world.api.refuses = ({ userAgent, path }, verb) =>
        verb === "patch" && userAgent === fieldManager && path === owned[name]
          ? refuse(status, "Refused", "not by you")
          : undefined;
      const { failure } = await world.until(two, isServed);
      assert.equal((failure as ApiError | undefined)?.status, status);
      const last = await world.until(nothingLeft, ({ leftBehind }) => leftBehind !== undefined);
      assert.deepEqual(last.leftBehind, []);
      world.api.refuses = () => undefined;
      world.seconds += 60;
      assert.equal((await world.step(nothingLeft)).failure, undefined);
    });

test("rolls out and withdraws while admission changes fields of the DaemonSet that an agent needs", async () => {
  const world = await deployed();
  otherImage(world);
  world.api.store.admit = ({ kind, spec }) => {
    if (kind === "DaemonSet") Object.assign(spec as object, { minReadySeconds: 60 });
  };
  const { failure } = await world.until(two, isServed);
  assert.match(failure?.message ?? "", /admission changes spec.minReadySeconds of daemonsets/);
  await world.until(nothingLeft, ({ leftBehind }) => leftBehind !== undefined);
});

test("repeats a refused write after 5 s, and then once a minute", async () => {
  const world = await deployed();
  otherImage(world);
  let refused = 0;
  world.api.refuses = ({ userAgent, path }, verb) => {
    if (verb !== "patch" || userAgent !== fieldManager || path !== owned.daemonSet)
      return undefined;
    refused += 1;
    return refuse(403, "Forbidden", "no host paths");
  };
  for (let seconds = 0; seconds < 600; seconds += 1) await world.step(firstContent);
  assert.equal(refused, 11);
});

for (const refused of ["a", "c"])
  test(`serves the other nodes, and reports the refusal, while the order of node ${refused} is refused`, async () => {
    const world = await deployed();
    world.api.refuses = ({ path }, verb) =>
      verb === "patch" && path === objectPath(refused)
        ? refuse(403, "Forbidden", "denied by a policy of theirs")
        : undefined;
    const former = world.published?.revision;
    const { failure, view } = await world.until(
      two,
      ({ view, revision }) => revision !== former && view?.current === 2,
    );
    assert.match(failure?.message ?? "", /denied by a policy of theirs/);
    assert.deepEqual(
      view?.waiting.map(({ node }) => node),
      [refused],
    );
    for (let seconds = 0; seconds < 10; seconds += 1) await world.step(two);
    const from = world.api.asked.length;
    for (let seconds = 0; seconds < 180; seconds += 1) await world.step(two);
    const patches = world.api.asked
      .slice(from)
      .filter(
        ({ verb, name, userAgent }) =>
          verb === "patch" && name === refused && userAgent === fieldManager,
      );
    assert.ok(patches.length <= 4, `${patches.length} patches in three minutes`);
    world.api.refuses = () => undefined;
    world.seconds += 60;
    const last = await world.until(two, isServed);
    assert.equal(last.failure, undefined);
  });

test("asks 200 nodes in half a minute while the API server answers one patch in ten with 429", async () => {
  const names = Array.from({ length: 200 }, (_, at) => [`n${at}`, "proves"] as const);
  const world = await World.of(Object.fromEntries(names));
  Object.assign(world.remover, { policy: policyWith({ maxUnavailable: "100%" }) });
  await world.step(firstContent);
  let patches = 0;
  world.api.refuses = ({ path, userAgent }, verb) => {
    if (verb !== "patch" || userAgent !== fieldManager || !path.includes("/nodepullsecrets/"))
      return undefined;
    patches += 1;
    return patches % 10 === 3 ? refuse(429, "TooManyRequests", "later", 1) : undefined;
  };
  const { seconds } = world;
  // No step fails. After each failed step, the controller would wait twice as long.
  await world.until(firstContent, isServed);
  assert.ok(world.seconds - seconds <= 30, `${world.seconds - seconds} s`);
});

/** Steps of a rollout while the API server or admission refuses some of the writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiError } from "#kube/client/api-error.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { rolloutTroubles } from "../status/outcome.ts";
import { failuresOf } from "../status/nodes.ts";
import type { Progress } from "./step.ts";
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
      const last = await world.until(nothingLeft, ({ completed }) => completed !== undefined);
      assert.deepEqual(last.completed, { isConfirmed: true });
      assert.deepEqual(world.granted, { a: 3, b: 3, c: 3 });
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
  await world.until(nothingLeft, ({ completed }) => completed !== undefined);
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

/** Refuses all patches of this node's pod, or all deletions, with this status. */
function refusing(
  world: World,
  node: string,
  status = 403,
  why = "denied by a policy of theirs",
  refused = "patch",
): void {
  const path = `${collections.pods}/pod-of-${node}-`;
  world.api.refuses = (request, verb) =>
    verb === refused && request.userAgent === fieldManager && request.path.startsWith(path)
      ? refuse(status, "Refused", why)
      : undefined;
}

test("while a grant is refused, reports why, and grants to the other nodes", async () => {
  const world = await deployed();
  refusing(world, "b");
  await world.until(two, ({ ended }) => ended);
  assert.deepEqual(world.granted, { a: 2, b: 1, c: 2 });
  for (let seconds = 0; seconds < 120; seconds += 1) {
    const [failure] = failuresOf(await world.step(two), [], new Date(0));
    assert.match(failure?.message ?? "", /^its grant was refused: denied by a policy of theirs/);
  }
});

const hostile: readonly (readonly [what: string, refuse: (world: World, path: string) => void])[] =
  [
    ...[500, 409, 429].map((status) => {
      const denies = (world: World, path: string): void =>
        refusing(world, path, status, "denied the request");
      return [`a webhook denies with ${status}`, denies] as const;
    }),
    [
      "the API server fails for the node's pod",
      (world, path) => refusing(world, path, 500, "panic"),
    ],
    [
      "the API server answers 409 to patches of the node's pod",
      (world, path) => refusing(world, path, 409, "changed"),
    ],
    [
      "admission removes our annotation",
      (world, node) => {
        world.api.store.admit = ({ kind, metadata: { name, annotations = {} } }) => {
          if (kind !== "Pod" || !name.startsWith(`pod-of-${node}-`)) return;
          if (annotations["globalpullsecret.io/revision"] !== "1")
            delete annotations["globalpullsecret.io/revision"];
        };
      },
    ],
  ];
for (const [what, make] of hostile)
  test(`serves the other nodes, and tries the refused node once a minute, when ${what}`, async () => {
    const world = await deployed();
    make(world, "b");
    const { view } = await world.until(two, ({ ended }) => ended);
    assert.deepEqual(
      view?.excused.map(({ node, reason }) => [node, reason]),
      [["b", "admission"]],
    );
    const from = world.api.asked.length;
    for (let seconds = 0; seconds < 180; seconds += 1) await world.step(two);
    const patches = world.api.asked
      .slice(from)
      .filter(
        ({ verb, name, userAgent }) =>
          verb === "patch" && userAgent === fieldManager && name.startsWith("pod-of-b-"),
      );
    assert.ok(patches.length <= 4, `${patches.length} patches in three minutes`);
  });

/** A cluster of ten nodes, where admission lets us patch only the pods of the `allowed` nodes. */
async function patching(allowed: readonly string[]): Promise<World> {
  const names = Array.from({ length: 10 }, (_, at) => [`n${at}`, "proves"] as const);
  const world = await World.of(Object.fromEntries(names));
  await world.until(firstContent, isServed);
  world.api.refuses = ({ path, userAgent }, verb) =>
    verb === "patch" &&
    userAgent === fieldManager &&
    path.startsWith(collections.pods) &&
    !allowed.some((node) => path.startsWith(`${collections.pods}/pod-of-${node}-`))
      ? refuse(403, "Refused", "denied by a policy of theirs")
      : undefined;
  return world;
}

test("writes the state only a few times a minute while admission refuses all grants, and continues after the refusals", async () => {
  const world = await patching([]);
  const from = world.writes.length;
  const minutes = 5;
  for (let seconds = 0; seconds < minutes * 60; seconds += 1) await world.step(two);
  const saved = world.writes.slice(from).filter((name) => name === "state");
  assert.ok(saved.length <= 4 * minutes, `${saved.length} writes in ${minutes} minutes`);
  world.api.refuses = () => undefined;
  const { seconds } = world;
  await world.until(two, isServed);
  assert.ok(world.seconds - seconds < 180, `${world.seconds - seconds} s`);
});

test("finds a canary whose pod the controller can patch, whatever the order of the nodes", async () => {
  const world = await patching(["n8", "n9"]);
  const { seconds } = world;
  await world.until(two, ({ ended }) => ended);
  assert.deepEqual([world.granted["n0"], world.granted["n8"], world.granted["n9"]], [1, 2, 2]);
  assert.ok(world.seconds - seconds < 360, `${world.seconds - seconds} s`);
});

test("grants to 200 nodes in half a minute while the API server answers one patch in ten with 429", async () => {
  const names = Array.from({ length: 200 }, (_, at) => [`n${at}`, "proves"] as const);
  const world = await World.of(Object.fromEntries(names));
  Object.assign(world.remover, { policy: policyWith({ maxUnavailable: "100%" }) });
  await world.step(firstContent);
  let patches = 0;
  world.api.refuses = ({ path, userAgent }, verb) => {
    if (verb !== "patch" || userAgent !== fieldManager || !path.includes("/pods/"))
      return undefined;
    patches += 1;
    return patches % 10 === 3 ? refuse(429, "TooManyRequests", "later", 1) : undefined;
  };
  const isGranted = () => Object.values(world.granted).every((revision) => revision === 1);
  const { seconds } = world;
  // No step fails. After each failed step, the controller would wait twice as long.
  await world.until(firstContent, isGranted);
  assert.ok(world.seconds - seconds <= 30, `${world.seconds - seconds} s`);
});

test("when the deletion of one pod is refused, replaces the other pods and retries once a minute", async () => {
  const world = await deployed();
  otherImage(world);
  refusing(world, "a", 403, "pods of kube-system stay", "delete");
  const before = new Map(world.pods.map(({ metadata, spec }) => [spec?.nodeName, metadata?.uid]));
  const replaced = () =>
    world.pods
      .filter(({ metadata, spec }) => before.get(spec?.nodeName) !== metadata?.uid)
      .map(({ spec }) => spec?.nodeName);
  await world.until(firstContent, () => replaced().length === 2);
  assert.deepEqual(replaced(), ["b", "c"]);
  world.seconds += 60;
  await world.step(firstContent);
  const from = world.api.asked.length;
  let last: Progress | undefined;
  for (let seconds = 0; seconds < 180; seconds += 1) last = await world.step(firstContent);
  const deletions = world.api.asked
    .slice(from)
    .filter(({ verb, userAgent }) => verb === "delete" && userAgent === fieldManager);
  assert.ok(deletions.length <= 4, `${deletions.length} deletions in three minutes`);
  assert.deepEqual(
    rolloutTroubles(last as Progress).map(([kind, { message }]) => [
      kind,
      /a: pods of kube-system stay;/.test(message),
    ]),
    [["upgradeRefused", true]],
  );
  // Grants to node a are not refused.
  world.nodes.set("b", "proves");
  await world.until(two, isServed);
  assert.equal(world.granted["a"], 2);
  world.api.refuses = () => undefined;
  const done = await world.until(two, () => replaced().length === 3);
  assert.equal(done.view?.phase, "served");
});

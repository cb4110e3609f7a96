/** Steps of a rollout that change the agents' template: upgrades, and other modes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { policyWith } from "../policy/policy.fixture.ts";
import { allReport, deployed, firstContent, isServed, two, World } from "./world.fixture.ts";

test("upgrades with a budget of one pod until the first new pod is proved, and writes the template once", async () => {
  const world = await World.of({ a: "proves", b: "proves", c: "proves", d: "proves" });
  Object.assign(world.remover, { policy: policyWith({ maxUnavailable: 2 }) });
  await world.until(firstContent, isServed);
  const before = new Set(world.pods.map(({ metadata }) => metadata?.uid));
  const { length } = world.writes;
  Object.assign(world.remover, {
    agent: { ...world.remover.agent, image: "example.invalid/agent:2" },
  });
  const budgets: unknown[] = [];
  await world.until(firstContent, () => {
    budgets.push(world.daemonSet?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable);
    return world.pods.every(({ metadata }) => !before.has(metadata?.uid));
  });
  await world.step(firstContent);
  await world.step(firstContent);
  assert.deepEqual([...new Set(budgets)], [1, 2]);
  assert.ok(budgets.indexOf(2) >= 60, String(budgets.indexOf(2)));
  const writes = world.writes.slice(length).filter((name) => name === "daemonSet");
  // The new template, the larger budget, and the small budget for the next upgrade.
  assert.equal(writes.length, 3);
});

test("writes the budget again when someone changed it, and counts this as no other template", async () => {
  for (const maxUnavailable of [7, "50%"]) {
    const world = await deployed();
    const pods = world.pods.map(({ metadata }) => metadata?.uid);
    world.edit(owned.daemonSet, {
      spec: { updateStrategy: { rollingUpdate: { maxUnavailable } } },
    });
    await world.step(firstContent);
    assert.equal(world.daemonSet?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable, 1);
    await world.until(firstContent, isServed);
    assert.deepEqual(
      world.pods.map(({ metadata }) => metadata?.uid),
      pods,
    );
  }
});

const useScope = (world: World, scope: "All" | "Annotated") =>
  Object.assign(world.remover, {
    agent: { ...world.remover.agent, delivery: { mode: "CredentialProvider", scope } },
  });

test("when scope Annotated and content come together, asks no agent of scope All for this content", async () => {
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  useScope(world, "All");
  const { revision: former } = await world.until(firstContent, isServed);
  const before = new Set(world.pods.map(({ metadata }) => metadata?.uid));
  useScope(world, "Annotated");
  await world.until(two, (progress) => {
    // Agents of scope All would give the content to every pod.
    for (const { metadata, spec } of world.pods)
      if (before.has(metadata?.uid)) assert.equal(world.asked[spec?.nodeName ?? ""], former);
    return world.published?.mode === "CredentialProviderAnnotated" && isServed(progress);
  });
  assert.equal(world.published?.document, two.document);
  allReport(world, "Proved");
});

test("when scope All and content come together, ends with agents and content of scope All", async () => {
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  useScope(world, "Annotated");
  await world.until(firstContent, isServed);
  useScope(world, "All");
  await world.until(
    two,
    (progress) => world.published?.mode === "CredentialProvider" && isServed(progress),
  );
  assert.equal(world.published?.document, two.document);
  allReport(world, "Proved");
});

/** A world that has served content in scope All, and gets no template of scope Annotated. */
async function refusesAnnotated(status: number): Promise<World> {
  const world = await World.of({ a: "proves", b: "proves", c: "proves" });
  useScope(world, "All");
  await world.until(firstContent, isServed);
  useScope(world, "Annotated");
  world.api.refuses = ({ userAgent, path }, verb) =>
    verb === "patch" && userAgent === fieldManager && path === owned.daemonSet
      ? refuse(status, "Refused", "not by you")
      : undefined;
  return world;
}

for (const status of [403, 409, 500]) {
  test(`asks agents of scope All for nothing while the template of scope Annotated is answered with ${status}`, async () => {
    const world = await refusesAnnotated(status);
    const { asked } = world;
    for (let seconds = 0; seconds < 40; seconds += 1) await world.step(two);
    assert.deepEqual(world.asked, asked);
    world.api.refuses = () => undefined;
    await world.until(two, isServed);
    allReport(world, "Proved");
  });

  test(`keeps serving unchanged content to joining nodes while the template of scope Annotated is answered with ${status}`, async () => {
    const world = await refusesAnnotated(status);
    const before = world.published?.revision;
    for (let seconds = 0; seconds < 40; seconds += 1) {
      const progress = await world.step(firstContent);
      const { revision, served } = progress;
      assert.deepEqual([revision, served], [before, before]);
      assert.equal(world.published?.mode, "CredentialProvider");
      assert.equal(progress.view?.pending, "template", "status reports that the mode waits");
    }
    world.api.refuses = () => undefined;
    await world.until(firstContent, ({ revision, ended }) => revision !== before && ended);
    assert.equal(world.published?.mode, "CredentialProviderAnnotated");
    await world.until(firstContent, isServed);
    allReport(world, "Proved");
    await world.step(firstContent);
    const { length } = world.writes;
    for (let seconds = 0; seconds < 30; seconds += 1) await world.step(firstContent);
    assert.deepEqual(world.writes.slice(length), []);
  });
}

test("goes back to scope All when the template of scope Annotated was never written", async () => {
  const world = await refusesAnnotated(403);
  for (let seconds = 0; seconds < 30; seconds += 1) await world.step(two);
  assert.equal(world.published?.mode, "CredentialProviderAnnotated");
  useScope(world, "All");
  await world.until(two, isServed);
  assert.equal(world.published?.mode, "CredentialProvider");
  allReport(world, "Proved");
});

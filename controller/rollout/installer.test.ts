/** The installer changes the agents' pods: every addition, change and removal reaches the nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { daemonSet } from "#controller/objects/daemonset.ts";
import type { Agent } from "#controller/objects/agent.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";
import { directly } from "#test/harness/api/direct.ts";
import { deployed, isServed, firstContent, World } from "./world.fixture.ts";

type PodSettings = Partial<Agent["pod"]> & Partial<Pick<Agent, "imagePullSecrets">>;

/** Starts a controller with these settings. */
function install(world: World, { imagePullSecrets = [], ...pod }: PodSettings): void {
  const { agent } = world.remover;
  const settings = { imagePullSecrets, pod: { ...agent.pod, ...pod } };
  Object.assign(world.remover, { agent: { ...agent, ...settings } });
  world.restart();
}

const pool = {
  text: "pool in (a)",
  requirements: [{ key: "pool", operator: "In", values: ["a"] }],
} as const;
const everywhere = { text: "", requirements: [] } as const;

const rows: readonly (readonly [
  what: string,
  before: PodSettings,
  after: PodSettings,
  pods: "replaced" | "kept",
])[] = [
  ["adds a label", { labels: {} }, { labels: { team: "a" } }, "replaced"],
  ["changes a label", { labels: { team: "a" } }, { labels: { team: "b" } }, "replaced"],
  ["removes a label", { labels: { team: "a" } }, { labels: {} }, "replaced"],
  ["changes an annotation", { annotations: { c: "1" } }, { annotations: { c: "2" } }, "replaced"],
  ["removes an annotation", { annotations: { cost: "1" } }, { annotations: {} }, "replaced"],
  ["removes the PriorityClass", { priorityClass: "high" }, { priorityClass: "" }, "replaced"],
  ["removes a pull secret", { imagePullSecrets: ["x"] }, { imagePullSecrets: [] }, "replaced"],
  ["removes the limits", { limits: { memory: "9Mi" } }, { limits: {} }, "replaced"],
  [
    "orders the labels differently",
    { labels: { a: "1", b: "2" } },
    { labels: { b: "2", a: "1" } },
    "kept",
  ],
  ["adds the node selector", { nodes: everywhere }, { nodes: pool }, "replaced"],
  ["removes the node selector", { nodes: pool }, { nodes: everywhere }, "replaced"],
];
for (const [what, before, after, pods] of rows)
  test(`when the installer ${what}, writes exactly the new template, and the pods are ${pods}`, async () => {
    const world = await deployed();
    install(world, before);
    await settle(world);
    const first = uidsOf(world);
    install(world, after);
    await settle(world);
    const { agent } = world.remover;
    assert.deepEqual(world.daemonSet?.spec?.template, daemonSet(agent, 1).spec?.template);
    const isKept = uidsOf(world).map((uid) => first.includes(uid));
    assert.deepEqual(isKept, Array(3).fill(pods === "kept"));
    const { revision } = world.published ?? {};
    assert.deepEqual(world.asked, { a: revision, b: revision, c: revision });
    assert.deepEqual(await requestsIn(world, 70), []);
  });

test("keeps the fields that another client adds to the DaemonSet, whatever the installer changes", async () => {
  const world = await deployed();
  const other = directly(world.api, "other-operator");
  const labels = { theirs: "x" };
  const body = { metadata: { labels }, spec: { template: { metadata: { labels } } } };
  const how = { manager: "other-operator", force: true };
  await other.apply(owned.daemonSet, { apiVersion: "apps/v1", kind: "DaemonSet", ...body }, how);
  assert.deepEqual(await requestsIn(world, 70), []);
  install(world, { nodes: everywhere, labels: { team: "a" } });
  await settle(world);
  install(world, { nodes: pool, labels: {} });
  await settle(world);
  const { metadata, spec } = world.daemonSet ?? {};
  for (const objectMeta of [metadata, spec?.template.metadata])
    assert.deepEqual(
      [objectMeta?.labels?.["theirs"], objectMeta?.labels?.["team"]],
      ["x", undefined],
    );
  assert.deepEqual(await requestsIn(world, 70), []);
});

/** Takes steps until the upgrade is over, and the controller writes nothing more. */
async function settle(world: World): Promise<void> {
  for (let idle = 0; idle < 10;) {
    const from = world.writes.length;
    const progress = await world.until(firstContent, isServed);
    const isUpgraded = progress.nodes.every(({ pod }) => pod?.isCurrent);
    idle = world.writes.length === from && isUpgraded ? idle + 1 : 0;
  }
}

const uidsOf = (world: World) => world.pods.map(({ metadata }) => metadata?.uid);

/** The write requests that the controller sends in this number of seconds, including dry runs. */
async function requestsIn(world: World, seconds: number): Promise<string[]> {
  const from = world.api.asked.length;
  for (let passed = 0; passed < seconds; passed += 1) await world.step(firstContent);
  return world.api.asked
    .slice(from)
    .filter(({ userAgent, verb }) => userAgent === fieldManager && !["get", "list"].includes(verb))
    .map(({ verb, name }) => `${verb} ${name}`);
}

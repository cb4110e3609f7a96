/** How many nodes content breaks, whatever the cloud does with the machines that fall silent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { joinNew, setTemplate } from "./events.ts";
import { runningAgents, servedCluster } from "./scene.ts";
import type { Run } from "./run.ts";
import { only, type Breakage, type Cloud } from "./world.ts";

const clouds: readonly Cloud[] = ["fast", "late", "never"];

/** Publishes content that breaks kubelets, and returns how many nodes it has broken in the end. */
function brokenBy(breakage: Breakage, cloud: Cloud, seed: number): number {
  const run = servedCluster(40, { cloud, seed });
  const { world } = run;
  world.source.a += 1;
  world.bad.set(world.source.a, breakage);
  const before = new Set(world.machines.keys());
  run.until(
    () => false,
    1500,
    () => {
      // The cloud replaces each machine that it has deleted.
      for (const name of before)
        if (!world.machines.has(name)) {
          before.delete(name);
          joinNew(world);
        }
    },
  );
  return brokenIn(run);
}

function brokenIn({ world, laws }: Run): number {
  const { revision = 0 } = world.secrets.get(only) ?? {};
  return laws.truth.histories.get(revision)?.broken.size ?? 0;
}

for (const cloud of clouds) {
  test(`breaks one node if agents report the failure, with a cloud that is ${cloud}`, () => {
    for (const seed of [1, 2, 3])
      assert.equal(brokenBy({ isSilent: false, percent: 100 }, cloud, seed), 1);
  });

  test(`breaks two nodes if no agent can report it, with a cloud that is ${cloud}`, () => {
    for (const seed of [1, 2, 3])
      assert.equal(brokenBy({ isSilent: true, percent: 100 }, cloud, seed), 2);
  });

  test(`breaks few nodes if half of the kubelets break, with a cloud that is ${cloud}`, () => {
    for (const isSilent of [false, true])
      for (const seed of [1, 2, 3]) {
        const broken = brokenBy({ isSilent, percent: 50 }, cloud, seed);
        assert.ok(broken <= (isSilent ? 8 : 5), `${broken} nodes`);
      }
  });
}

test("replaces one agent by an image that dies after ten seconds", () => {
  const run = servedCluster(40);
  setTemplate(run.world, { life: 10 });
  run.until(() => false, 1800);
  assert.ok(runningAgents(run) >= 39, `${runningAgents(run)} of 40 agents run`);
});

/**
 * How long a rotation takes in mode Restart, compared with the least possible time and with the
 * replacement method (testbed/replacement.ts) on the same nodes.
 */
import type { Testbed } from "../testbed/testbed.ts";
import type { Bench, Measurement } from "../result/bench.ts";
import { calm, change } from "../testbed/change.ts";
import { bareRestart } from "../testbed/bare-restart.ts";
import { rotateByReplacement } from "../testbed/replacement.ts";
import { compare, type BenchResult } from "../result/result.ts";
import { interleave } from "../result/rounds.ts";

const byReplacement = "replacement method";
const bare = "bare restart";

export const rotation: Measurement = {
  name: "rotation",
  run: async (bench) => [
    ...(await ofOneNode(bench)),
    await ofAllAtOnce(bench),
    await ofOneByOne(bench),
  ],
};

async function ofOneNode(bench: Bench): Promise<BenchResult[]> {
  const testbed = await bench.real(1);
  await rotateByReplacement(testbed, 1);
  const rounds = await interleave(
    bench.quick ? 3 : 8,
    async () => {
      await calm();
      return await change(testbed);
    },
    async () => {
      await calm();
      const replaced = await rotateByReplacement(testbed, 1);
      await calm();
      return { replaced, ...(await bareRestart(testbed, 0)) };
    },
  );
  const name = "one node, Secret written to healthy kubelet";
  const seconds = { unit: "s" } as const;
  return [
    compare(
      { name, ...seconds, against: bare, atMost: 2.5 },
      rounds.map(([ours, { took }]) => [ours.healthy / 1000, took / 1000]),
    ),
    compare(
      { name, ...seconds, against: byReplacement, atMost: 1 },
      rounds.map(([ours, { replaced }]) => [ours.healthy / 1000, replaced / 1000]),
    ),
    compare(
      { name: "one node, healthz silent", ...seconds, against: bare, atMost: 1.2 },
      rounds.map(([ours, { silent }]) => [(ours.silent[0] ?? 0) / 1000, silent / 1000]),
    ),
  ];
}

/** Time until all three kubelets are healthy with the new content, with a budget of 100 %. */
async function ofAllAtOnce(bench: Bench): Promise<BenchResult> {
  const testbed = await threeNodes(bench, "100%");
  await rotateByReplacement(testbed, "100%");
  const rounds = await interleave(
    bench.quick ? 2 : 6,
    async () => {
      await calm();
      return (await change(testbed)).healthy / 1000;
    },
    async () => {
      await calm();
      return (await rotateByReplacement(testbed, "100%")) / 1000;
    },
  );
  const name = "three nodes at once, to the last healthy kubelet";
  return compare({ name, unit: "s", against: byReplacement, atMost: 1 }, rounds);
}

/** One node after the other. The replacement method proves nothing between two nodes. */
async function ofOneByOne(bench: Bench): Promise<BenchResult> {
  const testbed = await threeNodes(bench, 1);
  await rotateByReplacement(testbed, 1);
  const rounds = await interleave(
    bench.quick ? 1 : 4,
    async () => {
      await calm();
      return (await change(testbed)).healthy / 1000;
    },
    async () => {
      await calm();
      return (await rotateByReplacement(testbed, 1)) / 1000;
    },
  );
  const name = "three nodes one at a time, to the last healthy kubelet";
  return compare({ name, unit: "s", against: byReplacement }, rounds);
}

/** Installs the product with this budget on three nodes, and makes a first change. */
async function threeNodes(bench: Bench, budget: 1 | "100%"): Promise<Testbed> {
  const testbed = await bench.real(3);
  await testbed.install(budget);
  await change(testbed);
  return testbed;
}

/**
 * How long a change takes, against the least that anything built on a DaemonSet and a kubelet
 * restart can take.
 */
import type { Testbed } from "../testbed/testbed.ts";
import type { Bench, Measurement } from "../result/bench.ts";
import { calm, change } from "../testbed/change.ts";
import { bareRestart, rollEmpty } from "../testbed/empty-daemonset.ts";
import { compare, type BenchResult } from "../result/result.ts";
import { interleave } from "../result/rounds.ts";
import { drawRollout } from "../picture/rollout-picture.ts";

export const propagateOne: Measurement = {
  name: "propagate-1",
  run: async (bench) => {
    const against = "empty pod started + bare restart";
    const row = (name: string, each: OneNodeRounds, goal: { atMost?: number } = {}) => {
      const pairs = each.map(
        ([ours, empty]) => [ours.healthy / 1000, (empty.started + empty.took) / 1000] as const,
      );
      return compare({ name, unit: "s", against, ...goal }, pairs);
    };
    const whole = await onOneNode(bench);
    // The empty pod has no other container to wait for: what ours costs is told apart.
    const testbed = await bench.real(1);
    await testbed.install("10%", { mode: "Restart" }, "--hidden-files=Ignore");
    await change(testbed);
    const alone = await rounds(bench, testbed);
    await testbed.install();
    await change(testbed);
    return [
      row("propagate-1", whole, { atMost: 1.25 }),
      row("propagate-1, without the first container", alone),
    ];
  },
};

/** For how long the kubelet does not answer: what a change costs a node. */
export const down: Measurement = {
  name: "down",
  run: async (bench) => {
    const pairs = (await onOneNode(bench)).map(
      ([ours, bare]) => [(ours.silent[0] ?? 0) / 1000, bare.silent / 1000] as const,
    );
    return [compare({ name: "down", unit: "s", against: "bare restart", atMost: 1.2 }, pairs)];
  },
};

/** Changes of one node, each beside an empty pod's start and a bare restart; milliseconds. */
function onOneNode(bench: Bench) {
  return bench.once("changes of one node", async () => {
    const testbed = await bench.real(1);
    await rollEmpty(testbed, 1);
    return await rounds(bench, testbed);
  });
}

type OneNodeRounds = Awaited<ReturnType<typeof rounds>>;

function rounds(bench: Bench, testbed: Testbed) {
  return interleave(
    bench.quick ? 3 : 12,
    async () => {
      await calm();
      return await change(testbed);
    },
    async () => {
      await calm();
      const { started } = await rollEmpty(testbed, 1);
      await calm();
      return { started, ...(await bareRestart(testbed, 0)) };
    },
  );
}

export const propagateAll: Measurement = {
  name: "propagate-n",
  run: async (bench) => {
    const testbed = await bench.real(4);
    const one = await atBudget(testbed, bench.quick ? 1 : 5, 1);
    bench.picture("rollout", await drawRollout(testbed));
    const all = await atBudget(testbed, bench.quick ? 1 : 6, "100%");
    return [one, all];
  },
};

async function atBudget(testbed: Testbed, count: number, budget: 1 | "100%"): Promise<BenchResult> {
  await testbed.install(budget);
  await rollEmpty(testbed, budget);
  const pairs = await interleave(
    count,
    async () => {
      await calm();
      return (await change(testbed)).served / 1000;
    },
    async () => {
      await calm();
      const { served } = await rollEmpty(testbed, budget);
      return (served + (await restarts(testbed, budget))) / 1000;
    },
  );
  const against = "empty rollout + bare restart of each wave";
  return compare({ name: `propagate-n, budget ${budget}`, unit: "s", against, atMost: 1.3 }, pairs);
}

/** One after the other, or all at once; milliseconds. */
export async function restarts(testbed: Testbed, budget: 1 | "100%"): Promise<number> {
  await calm();
  const indexes = [...testbed.nodes.keys()];
  if (budget === "100%") {
    const all = await Promise.all(indexes.map((index) => bareRestart(testbed, index)));
    return Math.max(...all.map(({ took }) => took));
  }
  let sum = 0;
  for (const index of indexes) sum += (await bareRestart(testbed, index)).took;
  return sum;
}

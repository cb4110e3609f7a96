/** The first creation on two nodes that wait for it, and the removal. */
import type { V1Pod } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { guardSeconds } from "#contract/names.ts";
import { podOn, pullRefused, untilState } from "#test/e2e/pods.ts";
import type { Testbed } from "../testbed/testbed.ts";
import type { Bench, Measurement } from "../result/bench.ts";
import { calm } from "../testbed/change.ts";
import { removeEmpty, rollEmpty } from "../testbed/empty-daemonset.ts";
import { additional, isServed, putAdditional, remove, revisionOf } from "../testbed/objects.ts";
import { compare } from "../result/result.ts";
import { interleave } from "../result/rounds.ts";
import { WatchedObjects } from "../observe/watched-objects.ts";
import { restarts } from "./propagate.ts";

/** Seconds. */
type Cycle = Readonly<{ first: number; removed: number }>;
type Baseline = Readonly<{ born: number; begun: number; rolled: number; restarts: number }>;

export const first: Measurement = {
  name: "first",
  run: async (bench) => {
    // A pod of the last node runs as soon as its kubelet has the credential: neither side waits for
    // what comes after that.
    const pairs = (await cycles(bench)).map(
      ([ours, empty]) => [ours.first, empty.born + empty.begun + empty.restarts] as const,
    );
    const against = "empty creation + empty rollout until the last start + bare restarts";
    return [compare({ name: "first", unit: "s", against, atMost: 1.3 }, pairs)];
  },
};

export const removal: Measurement = {
  name: "remove",
  run: async (bench) => {
    const pairs = (await cycles(bench)).map(
      ([ours, empty]) => [ours.removed, empty.rolled + empty.restarts] as const,
    );
    const against = "empty rollout + bare restarts";
    return [compare({ name: "remove", unit: "s", against, atMost: 1.3 }, pairs)];
  },
};

function cycles(bench: Bench): Promise<readonly (readonly [Cycle, Baseline])[]> {
  return bench.once("cycles", async () => {
    const testbed = await bench.real(2);
    await takeAway(testbed);
    return await interleave(
      bench.quick ? 1 : 5,
      async (round) => {
        await calm();
        return await cycle(testbed, round);
      },
      async () => {
        await calm();
        await removeEmpty(testbed);
        await calm();
        const born = await rollEmpty(testbed, 1, guardSeconds);
        await calm();
        const rolled = await rollEmpty(testbed, 1);
        return {
          born: born.served / 1000,
          begun: rolled.started / 1000,
          rolled: rolled.served / 1000,
          restarts: (await restarts(testbed, 1)) / 1000,
        };
      },
    );
  });
}

async function cycle(testbed: Testbed, round: number): Promise<Cycle> {
  const { cluster, api } = testbed;
  // Another tag each time: one that was pulled before needs no credential.
  const image = await cluster.pushApp(`team/app:${round}`);
  const two = testbed.nodes.slice(0, 2).map(({ node }) => node);
  using running = new WatchedObjects<V1Pod>(api, "/api/v1/namespaces/default/pods", {});
  await cluster.apply(...two.map((node) => podOn(node, `private-${round}-${node.name}`, image)));
  for (const node of two)
    await untilState(cluster, `private-${round}-${node.name}`, ...pullRefused);
  await sleep(2000);
  const begun = Date.now();
  await putAdditional(api, cluster.registry.document("additional"));
  const ran = await Promise.all(
    two.map((node) =>
      running.first(
        `the private pod on ${node.name} runs`,
        ({ object }) =>
          object.metadata?.name === `private-${round}-${node.name}` &&
          object.status?.phase === "Running",
        begun,
      ),
    ),
  );
  const last = Math.max(...ran.map(({ at }) => at));
  await testbed.syncer.first(
    "every node has it",
    ({ object, gone }) => !gone && revisionOf(object) > 0 && isServed(object),
    begun,
  );
  await cluster.kubectl("delete", "pods", "-n", "default", "--all");
  await calm();
  return { first: (last - begun) / 1000, removed: (await takeAway(testbed)) / 1000 };
}

/**
 * Milliseconds from the deletion of additional-pull-secret until nothing is left.
 * global-pull-secret-state is the last to go.
 */
async function takeAway(testbed: Testbed): Promise<number> {
  const begun = Date.now();
  await remove(testbed.api, additional);
  const { at } = await testbed.state.first(
    "global-pull-secret-state is gone",
    ({ gone }) => gone,
    begun,
  );
  for (const { node } of testbed.nodes)
    if (node.readFile("global-pull-secret/journal.json") !== undefined)
      throw new Error(`${node.name} has a rest`);
  return at - begun;
}

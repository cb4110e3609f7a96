/** What a change costs the API server, and how that grows with the nodes. */
import { setTimeout as sleep } from "node:timers/promises";
import { auditEnd } from "#test/cluster/audit.ts";
import { requestsSince } from "../observe/audit.ts";
import type { Testbed } from "../testbed/testbed.ts";
import type { Bench, Measurement } from "../result/bench.ts";
import { calm, change, ensureInForce } from "../testbed/change.ts";
import { compare, measure } from "../result/result.ts";
import { interleave } from "../result/rounds.ts";

export const apiLoad: Measurement = {
  name: "api-load",
  run: async (bench) => {
    const rounds = bench.quick ? 1 : 4;
    // All nodes at once first: setting the budget is not to be counted as a change.
    const few = await byBudget(bench, 2, rounds);
    const more = await byBudget(bench, 4, rounds);
    const agents = [few, more].flatMap(({ atOnce, oneByOne }) => atOnce.concat(oneByOne));
    const unit = "requests a change";
    const against = "the same with 2 nodes";
    return [
      measure(
        { name: "api-load, agents", unit, atMost: 0 },
        agents.map((n) => n.agents),
      ),
      // A request each for what begins and ends, and status for as long as it changes: with more
      // nodes nothing else should be asked.
      compare(
        { name: "api-load, controller, 4 nodes at once", unit, against, atMost: 1.1 },
        more.atOnce.map(({ controller }, round) => [
          controller,
          few.atOnce[round]?.controller ?? 0,
        ]),
      ),
      // Four waves and two: for each the DaemonSet is looked at, and status is told.
      measure(
        { name: "api-load, controller, a wave", unit: "requests", atMost: 3 },
        more.oneByOne.map(
          ({ controller }, round) => (controller - (few.oneByOne[round]?.controller ?? 0)) / 2,
        ),
      ),
    ];
  },
};

async function byBudget(bench: Bench, nodes: number, rounds: number) {
  const testbed = await bench.real(nodes);
  await testbed.install("100%");
  await ensureInForce(testbed);
  const atOnce = await count(testbed, rounds);
  await testbed.install(1);
  await ensureInForce(testbed);
  return { atOnce, oneByOne: await count(testbed, rounds) };
}

type Counts = ReturnType<typeof requestsSince>;

async function count(testbed: Testbed, rounds: number): Promise<Counts[]> {
  const counted = await interleave(
    rounds,
    async () => {
      await calm();
      return auditEnd(testbed.cluster);
    },
    async () => {
      await change(testbed);
      await sleep(2000); // what is told after the last node
    },
  );
  const marks = counted.map(([mark]) => mark);
  return marks.map((mark, index) => {
    const all = requestsSince(testbed.cluster, mark);
    const next = marks[index + 1];
    if (next === undefined) return all;
    const later = requestsSince(testbed.cluster, next);
    return { controller: all.controller - later.controller, agents: all.agents - later.agents };
  });
}

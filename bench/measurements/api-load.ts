/** What a change costs the API server, and how that grows with the nodes. */
import { setTimeout as sleep } from "node:timers/promises";
import { auditEnd } from "../../test/cluster/audit.ts";
import { requestsSince } from "../audit.ts";
import type { Bed } from "../testbed.ts";
import type { Measurement } from "../bench.ts";
import { calm, change } from "../change.ts";
import { compare, measure } from "../result.ts";
import { interleave } from "../rounds.ts";

export const apiLoad: Measurement = {
  name: "api-load",
  run: async (bench) => {
    const rounds = bench.quick ? 1 : 4;
    const few = await count(await bench.real(2), rounds);
    const more = await count(await bench.real(4), rounds);
    const against = "the same with 2 nodes";
    return [
      measure(
        { name: "api-load, agents", unit: "requests a change", atMost: 0 },
        [...few, ...more].map((n) => n.agents),
      ),
      compare(
        { name: "api-load, controller, 4 nodes", unit: "requests a change", against },
        more.map(({ controller }, index) => [controller, few[index]?.controller ?? 0] as const),
      ),
    ];
  },
};

type Counts = ReturnType<typeof requestsSince>;

async function count(bed: Bed, rounds: number): Promise<Counts[]> {
  const counted = await interleave(
    rounds,
    async () => {
      await calm();
      return auditEnd(bed.cluster);
    },
    async () => {
      await change(bed);
      await sleep(2000); // what is told after the last node
    },
  );
  const marks = counted.map(([mark]) => mark);
  return marks.map((mark, index) => {
    const all = requestsSince(bed.cluster, mark);
    const next = marks[index + 1];
    if (next === undefined) return all;
    const later = requestsSince(bed.cluster, next);
    return { controller: all.controller - later.controller, agents: all.agents - later.agents };
  });
}

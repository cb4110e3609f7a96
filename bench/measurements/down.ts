/** For how long the kubelet does not answer: what a change costs a node. */
import type { Measurement } from "../bench.ts";
import { calm, change } from "../change.ts";
import { bareRestart } from "../empty.ts";
import { compare } from "../result.ts";
import { interleave } from "../rounds.ts";

export const down: Measurement = {
  name: "down",
  run: async (bench) => {
    const bed = await bench.real(1);
    const pairs = await interleave(
      bench.quick ? 6 : 15,
      async () => {
        await calm();
        const { silent } = await change(bed);
        return (silent[0] ?? 0) / 1000;
      },
      async () => {
        await calm();
        return (await bareRestart(bed, 0)).silent / 1000;
      },
    );
    return [compare({ name: "down", unit: "s", against: "bare restart", atMost: 1.2 }, pairs)];
  },
};

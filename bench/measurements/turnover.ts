/**
 * Checks that every rollout and every withdrawal ends on 1,000 nodes, although half of the nodes
 * are replaced every hour.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { additional, remove } from "../testbed/objects.ts";
import type { Measurement } from "../result/bench.ts";
import { putAndWait } from "../testbed/change.ts";
import { measure } from "../result/result.ts";
import type { Simulated } from "../simulated/simulated.ts";

/**
 * Every change and every withdrawal must end within this time. If no nodes are replaced, each takes
 * one or two minutes.
 */
const withinSeconds = 300;

export const turnover: Measurement = {
  name: "turnover",
  run: async (bench) => {
    const nodes = bench.quick ? 300 : 1000;
    const simulated = await bench.simulated(nodes);
    await simulated.startController("10%");
    const stop = new AbortController();
    const replacing = simulated.replaceNodes(nodes / 2, stop.signal);
    replacing.catch(() => {});
    let [all, late] = [0, 0];
    const ends = async (what: Promise<unknown>) => {
      all += 1;
      await what.catch((error: unknown) => {
        process.stderr.write(`turnover: ${String(error)}\n`);
        late += 1;
      });
    };
    try {
      for (let round = 0; round < (bench.quick ? 1 : 2); round += 1) {
        await ends(change(simulated, `${round}-first`));
        await sleep(10_000);
        await ends(change(simulated, `${round}-second`));
        await sleep(10_000);
        await ends(withdraw(simulated));
      }
    } finally {
      stop.abort();
      await replacing;
    }
    await simulated.stopController();
    const name = `${nodes} simulated nodes, half of them replaced in an hour`;
    const what = `of ${all} changes and withdrawals not over in ${withinSeconds} s`;
    return [measure({ name: `${name}, ${what}`, unit: "", atMost: 0 }, [late])];
  },
};

async function change(simulated: Simulated, password: string): Promise<void> {
  const auth = Buffer.from(`bench:${password}`).toString("base64");
  const document = JSON.stringify({ auths: { "private.example": { auth } } });
  await putAndWait(simulated, document, withinSeconds);
}

/** Removes unreachable nodes first, because a withdrawal waits for them until `forgetAfter`. */
async function withdraw(simulated: Simulated): Promise<void> {
  const { api, global } = simulated;
  await simulated.removeUnreachable();
  const begun = Date.now();
  await remove(api, additional);
  await global.first("it is deleted", ({ gone }) => gone, begun, withinSeconds);
}

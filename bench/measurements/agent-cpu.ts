/** What an agent at rest does: answer a probe a second and look every ten. */
import { setTimeout as sleep } from "node:timers/promises";
import * as names from "../../pullsecret/names.ts";
import { agentOn, cpuOf } from "../agent-process.ts";
import type { Bed } from "../bed.ts";
import type { Measurement } from "../bench.ts";
import { calm } from "../change.ts";
import { measure } from "../result.ts";

const hour = 3600;

export const agentCpu: Measurement = {
  name: "agent-cpu",
  run: async (bench) => {
    const bed = await bench.real(1);
    await calm();
    await sleep(10_000);
    const [one] = bed.nodes;
    const pid = one && agentOn(bed, one);
    if (pid === undefined) throw new Error("no agent runs");
    const [rounds, seconds] = bench.quick ? [3, 20] : [6, 100];
    const before = await lines(bed);
    const used: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const [begun, cpu] = [performance.now(), cpuOf(pid)];
      await sleep(seconds * 1000);
      used.push(((cpuOf(pid) - cpu) / ((performance.now() - begun) / 1000)) * hour);
    }
    const said = ((await lines(bed)) - before) * (hour / (rounds * seconds));
    return [
      measure({ name: "agent-cpu, idle", unit: "CPU s/h", atMost: 2 }, used),
      measure({ name: "agent-cpu, log", unit: "lines/h", atMost: 1 }, [said]),
    ];
  },
};

async function lines({ cluster }: Bed): Promise<number> {
  const text = await cluster.kubectl("logs", "-n", names.namespace, "-l", `name=${names.syncerName}`, "--tail=-1");
  return text.split("\n").length;
}

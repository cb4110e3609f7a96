/** What an agent at rest does: answer a probe a second and look twice a minute. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as names from "../../pullsecret/names.ts";
import { agentOn, cpuOf } from "../agent-process.ts";
import type { Bed } from "../bed.ts";
import type { Measurement } from "../bench.ts";
import { calm } from "../change.ts";
import { slotOf } from "../healthz.ts";
import { measure } from "../result.ts";
import { inNamespace, networkOf } from "../../test/cluster/network.ts";
import { run } from "../../test/cluster/run.ts";

const hour = 3600;

export const agentCpu: Measurement = {
  name: "agent-cpu",
  run: async (bench) => {
    const bed = await bench.real(1);
    await calm();
    // V8 clears up twice within 20 s of a start, and forgets what it compiled: an agent's first minute is not its days.
    await sleep(30_000);
    const [one] = bed.nodes;
    const pid = one && agentOn(bed, one);
    if (one === undefined || pid === undefined) throw new Error("no agent runs");
    // An hour's probes at once: an agent runs for days, and V8 has then compiled what it does every second.
    const probes = [
      process.execPath,
      join(import.meta.dirname, "../probes.ts"),
      String(hour),
      String(names.defaultProbePort),
    ];
    await run(inNamespace(networkOf(slotOf(bed.cluster)), one.node.name, probes));
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

/** What an agent at rest does: answer a probe a second and look twice a minute. */
import { type ChildProcess, spawn } from "node:child_process";
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
    using bare = new BareServer();
    // V8 clears up twice within 20 s of a start, and forgets what it compiled: an agent's first minute is not its days.
    await sleep(30_000);
    const [one] = bed.nodes;
    const pid = one && agentOn(bed, one);
    if (one === undefined || pid === undefined) throw new Error("no agent runs");
    const inNode = inNamespace(networkOf(slotOf(bed.cluster)), one.node.name, probes(hour, names.defaultProbePort));
    // An hour's probes at once: an agent runs for days, and V8 has then compiled what it does every second.
    await Promise.all([run(inNode), run(probes(hour, barePort))]);
    const [rounds, seconds] = bench.quick ? [1, 30] : [6, 100];
    const before = await lines(bed);
    const used: (readonly [agent: number, bare: number])[] = [];
    for (let round = 0; round < rounds; round++) {
      const [begun, ...cpu] = [performance.now(), cpuOf(pid), cpuOf(bare.pid)] as const;
      await run(probes(seconds, barePort, 1000));
      const passed = (performance.now() - begun) / 1000;
      used.push([((cpuOf(pid) - cpu[0]) / passed) * hour, ((cpuOf(bare.pid) - cpu[1]) / passed) * hour]);
    }
    const said = ((await lines(bed)) - before) * (hour / (rounds * seconds));
    const unit = "CPU s/h";
    return [
      measure(
        { name: "agent-cpu, idle", unit, atMost: 2 },
        used.map(([agent]) => agent),
      ),
      measure(
        { name: "agent-cpu, limit: a bare Node server", unit },
        used.map(([, other]) => other),
      ),
      measure({ name: "agent-cpu, log", unit: "lines/h", atMost: 1 }, [said]),
    ];
  },
};

function probes(...numbers: readonly number[]): string[] {
  return [process.execPath, join(import.meta.dirname, "../probes.ts"), ...numbers.map(String)];
}

const barePort = 31249;

/** What Node costs that answers a probe a second and does nothing else. */
class BareServer implements Disposable {
  readonly #child: ChildProcess;

  constructor() {
    const answer = "HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nok\\n";
    const program = `require("node:net").createServer((socket) =>
      socket.on("error", () => {}).on("data", () => socket.end("${answer}"))).listen(${barePort}, "127.0.0.1")`;
    this.#child = spawn(process.execPath, ["--max-semi-space-size=1", "-e", program], { stdio: "ignore" });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  [Symbol.dispose](): void {
    this.#child.kill();
  }
}

async function lines({ cluster }: Bed): Promise<number> {
  const text = await cluster.kubectl("logs", "-n", names.namespace, "-l", `name=${names.syncerName}`, "--tail=-1");
  return text.split("\n").length;
}

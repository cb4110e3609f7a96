/** What an agent at rest does: answer a probe a second and look twice a minute. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as names from "#contract/names.ts";
import { agentOn, cpuOf, processOn } from "../agent-process.ts";
import type { Testbed, TestbedNode } from "../testbed.ts";
import type { Measurement } from "../bench.ts";
import { calm } from "../change.ts";
import { slotOf } from "../healthz.ts";
import { compare, measure } from "../result.ts";
import { inNamespace, networkOf } from "../../test/cluster/host/network.ts";
import { run } from "../../test/cluster/run.ts";

const hour = 3600;
/** Seconds of a round. */
const seconds = 60;
/** Milliseconds in which an agent at rest looks for certain. */
const aLook = 32_000;

export const agentCpu: Measurement = {
  name: "agent-cpu",
  run: async (bench) => {
    const testbed = await bench.real(1);
    await calm();
    const [one] = testbed.nodes;
    if (one === undefined) throw new Error("no node");
    await startBare(testbed, one);
    const [pid, bare] = [agentOn(testbed, one), processOn(testbed, one, String(barePort))];
    if (pid === undefined || bare === undefined)
      throw new Error("no agent runs, or no bare server");
    const network = networkOf(slotOf(testbed.cluster));
    const ask = (port: number, count: number) =>
      run(
        inNamespace(network, one.node.name, [
          process.execPath,
          prober,
          String(count),
          String(port),
        ]),
      );
    const askBoth = (count: number) =>
      Promise.all([ask(names.defaultProbePort, count), ask(barePort, count)]);
    // An agent runs for days: V8 compiles what it does every second, and forgets a part whenever it
    // collects. Hence two hours' probes at once, then before each round a quarter of an hour's and
    // a look, which is when an agent collects. Not before it rests: it does with its second look
    // after its last deed, and collects then what its work has left.
    await sleep(2 * aLook);
    await askBoth(2 * hour);
    const rounds = bench.quick ? 1 : 4;
    const [before, since] = [await lines(testbed), performance.now()];
    const used: (readonly [agent: number, bare: number])[] = [];
    for (let round = 0; round < rounds; round++) {
      await askBoth(hour / 4);
      await sleep(aLook);
      const [begun, ...cpu] = [performance.now(), cpuOf(pid), cpuOf(bare)] as const;
      await sleep(seconds * 1000);
      const passed = (performance.now() - begun) / 1000;
      used.push([
        ((cpuOf(pid) - cpu[0]) / passed) * hour,
        ((cpuOf(bare) - cpu[1]) / passed) * hour,
      ]);
    }
    await testbed.cluster.kubectl("delete", "pod", bareName, "-n", names.namespace);
    const said = ((await lines(testbed)) - before) * ((hour * 1000) / (performance.now() - since));
    const unit = "CPU s/h";
    return [
      compare(
        { name: "agent-cpu, idle", unit, against: "a bare Node that answers probes", atMost: 1.5 },
        used,
      ),
      measure({ name: "agent-cpu, log", unit: "lines/h", atMost: 1 }, [said]),
    ];
  },
};

const prober = join(import.meta.dirname, "../probes.ts");
const bareName = "bench-bare";
const barePort = 31249;

/**
 * What Node costs that answers the kubelet's probe a second in a pod, as the agent does, and does
 * nothing else.
 */
async function startBare(testbed: Testbed, { node }: TestbedNode): Promise<void> {
  const path = "jsonpath={.spec.template.spec.containers[0].image}";
  const image = await testbed.cluster.kubectl(
    "get",
    "daemonset",
    names.agentName,
    "-n",
    names.namespace,
    "-o",
    path,
  );
  const answer = "HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nok\\n";
  const program = `require("node:net").createServer((socket) =>
    socket.on("error", () => {}).on("data", () => socket.end("${answer}"))).listen(${barePort}, "127.0.0.1")`;
  const container = {
    name: "bare",
    image,
    command: ["/nodejs/bin/node", "--max-semi-space-size=1", "-e", program],
    readinessProbe: {
      periodSeconds: 1,
      httpGet: { host: "127.0.0.1", path: "/readyz", port: barePort },
    },
  };
  await testbed.cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: bareName, namespace: names.namespace },
    spec: {
      nodeName: node.name,
      hostNetwork: true,
      terminationGracePeriodSeconds: 0,
      containers: [container],
    },
  });
  await testbed.cluster.kubectl(
    "wait",
    "pod",
    bareName,
    "-n",
    names.namespace,
    "--for=condition=Ready",
    "--timeout=60s",
  );
}

async function lines({ cluster }: Testbed): Promise<number> {
  const text = await cluster.kubectl(
    "logs",
    "-n",
    names.namespace,
    "-l",
    `name=${names.agentName}`,
    "--tail=-1",
  );
  return text.split("\n").length;
}

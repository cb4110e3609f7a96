/**
 * The CPU time of an idle agent: it keeps two watches of the API server open, and checks the node
 * twice a minute. The measurement lasts some minutes. Only the second half counts, because by then
 * V8 has compiled the code that runs often. A bare Node process, which the kubelet probes every
 * second, is the baseline.
 */
import { setTimeout as sleep } from "node:timers/promises";
import * as names from "#contract/names.ts";
import { agentOn, cpuOf, processOn } from "../observe/agent-process.ts";
import type { Testbed, TestbedNode } from "../testbed/testbed.ts";
import type { Measurement } from "../result/bench.ts";
import { calm } from "../testbed/change.ts";
import { compare } from "../result/result.ts";
import { until } from "#test/cluster/await.ts";

const hour = 3600;
const against = "a bare Node that answers probes";
const atMost = 1.5;

export const agentCpu: Measurement = {
  name: "agent-cpu",
  run: async (bench) => {
    const testbed = await bench.real(1);
    await calm();
    const [testbedNode] = testbed.nodes;
    if (testbedNode === undefined) throw new Error("no node");
    const minutes = bench.quick ? 6 : 12;
    const half = minutes * 30_000;
    const [agent, bare] = await startBoth(testbed, testbedNode);
    const used = (): readonly [number, number] => [cpuOf(agent), cpuOf(bare)];
    await sleep(half);
    const [middle, since] = [used(), performance.now()];
    await sleep(half);
    const [end, now] = [used(), performance.now()];
    await testbed.cluster.kubectl("delete", "pod", bareName, "-n", names.namespace);
    const anHour = (hour * 1000) / (now - since);
    return [
      compare({ name: "an agent at rest", unit: "CPU s/h", against, atMost }, [
        [(end[0] - middle[0]) * anHour, (end[1] - middle[1]) * anHour],
      ]),
    ];
  },
};

/** Starts a new agent and a bare Node process; returns their process ids. */
async function startBoth(
  testbed: Testbed,
  testbedNode: TestbedNode,
): Promise<readonly [number, number]> {
  const old = agentOn(testbed, testbedNode);
  const its = ["-n", names.namespace, "-l", `name=${names.agentName}`];
  await testbed.cluster.kubectl("delete", "pod", ...its, "--wait=false");
  const agent = await until("a new agent runs", () => {
    const pid = agentOn(testbed, testbedNode);
    return pid === old ? undefined : pid;
  });
  await startBare(testbed, testbedNode);
  const bare = processOn(testbed, testbedNode, String(barePort));
  if (bare === undefined) throw new Error("no bare server runs");
  return [agent, bare];
}

const bareName = "bench-bare";
const barePort = 31249;

/**
 * Starts a pod with a bare Node process, which does nothing but answer the kubelet's probe each
 * second.
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

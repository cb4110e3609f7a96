/**
 * What a restart of the kubelet costs the node's pods: how many of 30 endpoints leave their
 * Service, and for how long. Their readiness probes have the default period of ten seconds. Before
 * 1.35 a kubelet calls every probed container unready until its next probe: `KUBERNETES=1.33 npm
 * run bench -- --only probes`.
 */
import type { V1EndpointSlice } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "#test/cluster/await.ts";
import { WatchedObjects, type Sighting } from "../observe/watched-objects.ts";
import type { Measurement } from "../result/bench.ts";
import { measure } from "../result/result.ts";
import { bareRestart } from "../testbed/bare-restart.ts";
import { calm } from "../testbed/change.ts";
import type { Testbed } from "../testbed/testbed.ts";

const pods = 30;
const name = "probed";
/** Milliseconds in which every pod is probed again: two periods and a little. */
const probed = 25_000;

export const probes: Measurement = {
  name: "probes",
  run: async (bench) => {
    const testbed = await bench.real(1);
    await startPods(testbed);
    const slices = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`;
    const query = { labelSelector: `kubernetes.io/service-name=${name}` };
    using watched = new WatchedObjects<V1EndpointSlice>(testbed.api, slices, query);
    const isWhole = () => readyIn(watched.current()) === pods;
    await until("every endpoint is ready", isWhole, { timeout: 180_000 });
    const rounds: Readonly<{ lost: number; seconds: number }>[] = [];
    for (let round = 0; round < (bench.quick ? 1 : 5); round += 1) {
      await calm();
      const begun = Date.now();
      await bareRestart(testbed, 0);
      await sleep(probed);
      rounds.push(lossOf(watched.seen.filter(({ at }) => at >= begun)));
      await until("every endpoint is ready again", isWhole, { timeout: 180_000 });
    }
    const its = ["-n", "default", "-l", `app=${name}`, "--wait=false"];
    await testbed.cluster.kubectl("delete", "pods,services", ...its);
    const row = (what: string, unit: string, key: "lost" | "seconds") =>
      measure(
        { name: `one kubelet restart, ${pods} probed pods, ${what}`, unit },
        rounds.map((round) => round[key]),
      );
    return [
      row("endpoints that leave", "", "lost"),
      row("from the first that leaves to the last that is back", "s", "seconds"),
    ];
  },
};

/** The most endpoints that were missing at once, and for how long any was missing. */
function lossOf(seen: readonly Sighting<V1EndpointSlice>[]) {
  const missing = seen.filter(({ object }) => readyIn(object) < pods);
  const [first, last] = [missing[0], missing.at(-1)];
  if (first === undefined || last === undefined) return { lost: 0, seconds: 0 };
  const back = seen.find(({ at, object }) => at > last.at && readyIn(object) === pods);
  return {
    lost: Math.max(...missing.map(({ object }) => pods - readyIn(object))),
    seconds: ((back ?? last).at - first.at) / 1000,
  };
}

const readyIn = (slice: V1EndpointSlice | undefined): number =>
  (slice?.endpoints ?? []).filter(({ conditions }) => conditions?.ready === true).length;

async function startPods({ cluster, nodes, shellImage }: Testbed): Promise<void> {
  const metadata = { namespace: "default", labels: { app: name } };
  const container = {
    name: "app",
    image: shellImage,
    command: ["/bin/busybox", "sleep", "86400"],
    readinessProbe: { exec: { command: ["/bin/busybox", "true"] } },
  };
  const nodeName = nodes[0]?.node.name;
  await cluster.apply(
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...metadata, name },
      spec: { selector: { app: name }, ports: [{ port: 80 }] },
    },
    ...Array.from({ length: pods }, (_, at) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata, name: `${name}-${at}` },
      spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [container] },
    })),
  );
}

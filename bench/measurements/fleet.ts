/**
 * One Secret for a hundred clusters: ten have real API servers, and one small server simulates the
 * other clusters. The management cluster has a real API server, and the controller runs with the
 * limits of its Deployment.
 */
import { readFileSync } from "node:fs";
import { until } from "#test/cluster/await.ts";
import { document, pullSecret } from "#test/controller/plane.ts";
import * as fleet from "#test/fleet/fleet.ts";
import { fleetSecret, labelled } from "#test/fleet/fleet.ts";
import type { Measurement } from "../result/bench.ts";
import { Clusters } from "../fleet/clusters.ts";
import { measure, type BenchResult } from "../result/result.ts";

/**
 * Goals: the last cluster has the Secret within 1 s plus 20 ms per cluster, and the idle controller
 * uses at most 300 KiB of memory per cluster.
 */
const goals = { seconds: (clusters: number) => 1 + 0.02 * clusters, kibibytes: 300 };

const [count, real] = [100, 10];

export const fleetSize: Measurement = {
  name: "fleet",
  run: async ({ quick }) => {
    const rounds = quick ? 3 : 10;
    const home = await fleet.startHome();
    try {
      await using clusters = await Clusters.start(home, count, real);
      return rowsOf(
        await served(home, clusters, real, 1),
        await served(home, clusters, count, rounds),
      );
    } finally {
      home.cluster.down();
    }
  },
};

/** Seconds of each rotation, and the idle controller's memory. */
type Served = Readonly<{ rotations: readonly number[]; kibibytes: number }>;

function rowsOf(few: Served, all: Served): readonly BenchResult[] {
  const grown = (all.kibibytes - few.kibibytes) / (count - real);
  const seconds = { unit: "s", atMost: goals.seconds(count) };
  return [
    measure({ name: `${count} clusters, rotation to the last`, ...seconds }, all.rotations),
    // Divides only the growth of the memory by the number of clusters, because the memory for the
    // code of TLS, HTTP and JSON is constant.
    measure(
      {
        name: `${count} clusters, memory of each at rest`,
        unit: "KiB",
        atMost: goals.kibibytes,
      },
      [grown],
    ),
  ];
}

let version = 0;

/**
 * Starts a new controller for the first `size` clusters, which have no content yet. Rotates
 * `rounds` times, then reads the idle controller's memory. Removes the Secret and the FleetSecret
 * afterwards.
 */
async function served(
  home: fleet.Home,
  clusters: Clusters,
  size: number,
  rounds: number,
): Promise<Served> {
  const labels = Object.entries(labelled).map(([label, value]) => `${label}=${value}`);
  await home.cluster.kubectl("label", "namespaces", ...clusters.names.slice(0, size), ...labels);
  clusters.forget();
  await home.cluster.apply(fleetSecret({ rollout: { maxUnavailable: "100%" } }));
  await using controller = fleet.startFleet(home, { asDeployed: true });
  const summary = async () => (await fleet.objectIn(home))?.status?.summary;
  const seen = async () => [await fleet.objectIn(home), controller.output().slice(-2000)];
  await until("all are selected", async () => (await summary()) === `0/${size}`, { seen });
  await clusters.untilFollowed(size);
  const rotate = async (): Promise<number> => {
    version += 1;
    const text = document({ "quay.io": `robot:${version}` });
    const [since, started] = [Date.now(), performance.now()];
    await home.cluster.apply(pullSecret("source-pull-secret", text));
    await clusters.untilDelivered(Buffer.from(text).toString("base64"), size, since);
    const seconds = (performance.now() - started) / 1000;
    await until("all are done", async () => (await summary()) === `${size}/${size}`, { seen });
    return seconds;
  };
  await rotate();
  const rotations: number[] = [];
  for (let round = 0; round < rounds; round += 1) rotations.push(await rotate());
  const kibibytes = await settled(controller.pid);
  const its = ["-n", "kube-system"];
  await home.cluster.kubectl("delete", "secret", "source-pull-secret", ...its);
  await home.cluster.kubectl("delete", "fleetsecret", "pull-secret", ...its, "--timeout=2m");
  return { rotations, kibibytes };
}

/**
 * The process's anonymous resident memory in KiB, once it has changed by less than 1 % for 10 s.
 * Other resident memory is the program's code, which the kernel reclaims if memory is short.
 */
async function settled(pid: number): Promise<number> {
  const read = () =>
    Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  let [value, since] = [read(), performance.now()];
  await until("its memory is at rest", () => {
    const now = read();
    if (Math.abs(now - value) > value / 100) [value, since] = [now, performance.now()];
    return performance.now() - since > 10_000;
  });
  return value;
}

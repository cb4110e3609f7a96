/**
 * One Secret for a hundred clusters: ten real API servers among them, the rest fakes of one small
 * server. The management cluster's API server and the controller are real, the latter with its
 * Deployment's limits.
 */
import { readFileSync } from "node:fs";
import { until } from "#test/cluster/await.ts";
import { document, pullSecret } from "#test/controller/plane.ts";
import * as fleet from "#test/fleet/fleet.ts";
import { fleetSecret, labelled } from "#test/fleet/fleet.ts";
import type { Measurement } from "../result/bench.ts";
import { Clusters } from "../fleet/clusters.ts";
import { ResourceSets } from "../fleet/resource-sets.ts";
import { compare, measure, type BenchResult } from "../result/result.ts";
import { interleave } from "../result/rounds.ts";

/** Goals: 1 s and 20 ms a cluster until the last one has it; 300 KiB a cluster at rest. */
const goals = { seconds: (clusters: number) => 1 + 0.02 * clusters, kibibytes: 300 };

const [count, real] = [100, 10];

export const fleetSize: Measurement = {
  name: "fleet",
  run: async ({ quick }) => {
    const rounds = quick ? 3 : 10;
    const home = await fleet.startHome();
    try {
      await using clusters = await Clusters.start(home, count, real);
      const few = await served(home, clusters, real, async (rotate) => {
        await using sets = await ResourceSets.start(home, clusters.real);
        const word = (round: number) => document({ "quay.io": `robot:set-${round}` });
        // The first one also opens that controller's connections.
        await sets.deliver(word(-1));
        return await interleave(
          rounds,
          async () => (await rotate()).seconds,
          (round) => sets.deliver(word(round)),
        );
      });
      const all = await served(home, clusters, count, async (rotate) => {
        const each: Rotation[] = [];
        for (let round = 0; round < rounds; round++) each.push(await rotate());
        return each;
      });
      return rowsOf(few, all);
    } finally {
      home.cluster.down();
    }
  },
};

type Rotation = Readonly<{ seconds: number; requests: number }>;
type Served<T> = Readonly<{ first: number; rotations: T; kibibytes: number }>;

function rowsOf(
  few: Served<readonly (readonly [number, number])[]>,
  all: Served<readonly Rotation[]>,
): readonly BenchResult[] {
  const seconds = { unit: "s", atMost: goals.seconds(count) };
  const grown = (all.kibibytes - few.kibibytes) / (count - real);
  return [
    measure({ name: `${count} clusters, first content to the last`, ...seconds }, [all.first]),
    measure(
      { name: `${count} clusters, rotation to the last`, ...seconds },
      all.rotations.map((one) => one.seconds),
    ),
    measure(
      { name: "requests a cluster for a rotation", unit: "" },
      all.rotations.map(({ requests }) => requests / count),
    ),
    compare(
      {
        name: `${real} clusters, all real, rotation to the last`,
        unit: "s",
        against: "ClusterResourceSets, by Cluster API",
      },
      few.rotations,
    ),
    measure({ name: `controller's memory with ${real} clusters`, unit: "KiB" }, [few.kibibytes]),
    // What it has with few is mostly its own: the code for TLS, for HTTP and for JSON.
    measure(
      {
        name: "memory a cluster at rest, of the others",
        unit: "KiB",
        atMost: goals.kibibytes,
      },
      [grown],
    ),
  ];
}

let version = 0;

/**
 * A controller of its own serves the first `size` clusters, from their first content on. `measured`
 * is given what rotates; memory is read after it, at rest. All is taken away again.
 */
async function served<T>(
  home: fleet.Home,
  clusters: Clusters,
  size: number,
  measured: (rotate: () => Promise<Rotation>) => Promise<T>,
): Promise<Served<T>> {
  const labels = Object.entries(labelled).map(([label, value]) => `${label}=${value}`);
  await home.cluster.kubectl("label", "namespaces", ...clusters.names.slice(0, size), ...labels);
  clusters.forget();
  await home.cluster.apply(fleetSecret({ rollout: { canary: 0, maxConcurrency: "100%" } }));
  await using controller = fleet.startFleet(home, { asDeployed: true });
  const summary = async () => (await fleet.objectIn(home))?.status?.summary;
  const seen = async () => [await fleet.objectIn(home), controller.output().slice(-2000)];
  await until("all are selected", async () => (await summary()) === `0/${size}`, { seen });
  await clusters.untilFollowed(size);
  const rotate = async (): Promise<Rotation> => {
    version += 1;
    const before = clusters.requests;
    const text = document({ "quay.io": `robot:${version}` });
    const [since, started] = [Date.now(), performance.now()];
    await home.cluster.apply(pullSecret("source-pull-secret", text));
    await clusters.untilDelivered(Buffer.from(text).toString("base64"), size, since);
    const seconds = (performance.now() - started) / 1000;
    await until("all are done", async () => (await summary()) === `${size}/${size}`, { seen });
    return { seconds, requests: clusters.requests - before };
  };
  const { seconds: first } = await rotate();
  const rotations = await measured(rotate);
  const kibibytes = await settled(controller.pid);
  const its = ["-n", "kube-system"];
  await home.cluster.kubectl("delete", "secret", "source-pull-secret", ...its);
  await home.cluster.kubectl("delete", "fleetsecret", "pull-secret", ...its, "--timeout=2m");
  return { first, rotations, kibibytes };
}

/**
 * Anonymous resident KiB, once they have not changed by more than a hundredth for 10 s. The rest is
 * the program's text, which the kernel takes back where memory is short.
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

/**
 * One Secret for a hundred clusters, each played by a small server that speaks the calls; the
 * management cluster's API server and the controller are real, the latter with its Deployment's
 * limits.
 */
import { readFileSync } from "node:fs";
import { until } from "../../test/cluster/await.ts";
import { document, pullSecret } from "../../test/controller/plane.ts";
import * as fleet from "../../test/fleet/fleet.ts";
import { fleetSecret, labelled } from "../../test/fleet/fleet.ts";
import { PlayedGuests } from "../../test/fleet/played-guest.ts";
import type { Measurement } from "../bench.ts";
import { measure, type Result } from "../result.ts";

/** Goals: 1 s and 20 ms a cluster until the last one has it; 300 KiB a cluster at rest. */
const goals = { seconds: (clusters: number) => 1 + 0.02 * clusters, kibibytes: 300 };

const rounds = 5;

export const fleetSize: Measurement = {
  name: "fleet",
  run: async ({ quick }) => {
    const count = quick ? 20 : 100;
    const home = await fleet.startHome();
    const played = await PlayedGuests.start(home.cluster.directory);
    const names = Array.from({ length: count }, (_, n) => `guest-${n}`);
    try {
      return await measured(home, played, names, quick ? 1 : rounds);
    } finally {
      await played[Symbol.asyncDispose]();
      home.cluster.down();
    }
  },
};

async function measured(
  home: fleet.Home,
  played: PlayedGuests,
  names: readonly string[],
  times: number,
): Promise<readonly Result[]> {
  const { length: count } = names;
  await fleet.declareGuests(
    home,
    names.map((name) => [name, played.kubeconfig(name)] as const),
  );
  await home.cluster.apply(fleetSecret({ rollout: { canary: 0, maxConcurrency: "100%" } }));
  await using controller = fleet.startFleet(home, { asDeployed: true });
  const summary = async () => (await fleet.objectIn(home))?.status?.summary;
  await until("nothing is selected", async () => (await summary()) === "0/0");
  const empty = await settled(controller.pid);
  const its = ["namespaces", "-l", "fleet=bench"];
  const labels = Object.entries(labelled).map(([label, value]) => `${label}=${value}`);
  await home.cluster.kubectl("label", ...its, ...labels);
  await until("all are selected", async () => (await summary()) === `0/${count}`);
  await until("all are connected", () => names.every((name) => played.requests.has(name)));
  const seconds: number[] = [];
  const requests: number[] = [];
  for (let round = 0; round <= times; round++) {
    const before = total(played);
    const text = document({ "quay.io": `robot:${round}` });
    const wanted = Buffer.from(text).toString("base64");
    const started = performance.now();
    await home.cluster.apply(pullSecret("source-pull-secret", text));
    await until(
      "the last one has it",
      () => names.every((name) => played.secretOf(name)?.data?.[".dockerconfigjson"] === wanted),
      { every: 10 },
    );
    seconds.push((performance.now() - started) / 1000);
    await until("all are done", async () => (await summary()) === `${count}/${count}`);
    requests.push((total(played) - before) / count);
  }
  const kibibytes = ((await settled(controller.pid)) - empty) / count;
  return [
    measure(
      {
        name: `${count} clusters, first content to the last`,
        unit: "s",
        atMost: goals.seconds(count),
      },
      seconds.slice(0, 1),
    ),
    measure(
      { name: `${count} clusters, rotation to the last`, unit: "s", atMost: goals.seconds(count) },
      seconds.slice(1),
    ),
    measure({ name: "requests a cluster for a rotation", unit: "" }, requests.slice(1)),
    measure({ name: "memory a cluster at rest", unit: "KiB", atMost: goals.kibibytes }, [
      kibibytes,
    ]),
  ];
}

const total = ({ requests }: PlayedGuests): number =>
  [...requests.values()].reduce((sum, one) => sum + one.length, 0);

/** Resident KiB, once they have not changed by more than a hundredth for 3 s. */
async function settled(pid: number): Promise<number> {
  const read = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  let [value, since] = [read(), performance.now()];
  await until("its memory is at rest", () => {
    const now = read();
    if (Math.abs(now - value) > value / 100) [value, since] = [now, performance.now()];
    return performance.now() - since > 3000;
  });
  return value;
}

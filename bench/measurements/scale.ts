/**
 * Rotations with the default policy on 10 to 5,000 simulated nodes, of which 1 % are unreachable;
 * rotations while half of the nodes are replaced in an hour; what a rotation costs the API server,
 * and the idle controller afterwards.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Measurement } from "../result/bench.ts";
import { putAndWait } from "../testbed/change.ts";
import { measure, type BenchResult } from "../result/result.ts";
import type { Simulated, Usage } from "../simulated/simulated.ts";

/** The default of spec.rollout.maxUnavailable. */
const budget = "10%";
const restMinutes = 3;

export const scale: Measurement = {
  name: "scale",
  run: async (bench) => {
    const sizes = bench.quick ? [10, 100, 500] : [10, 100, 1000, 5000];
    const rows: BenchResult[] = [];
    for (const nodes of sizes) {
      const simulated = await bench.simulated(nodes);
      await simulated.startController(budget);
      await rotate(simulated);
      const rounds: Rotation[] = [];
      for (let round = 0; round < (bench.quick ? 1 : 3); round += 1)
        rounds.push(await rotate(simulated));
      rows.push(
        measure(
          { name: `${nodes} simulated nodes, Secret written to Ready`, unit: "s" },
          rounds.map(({ seconds }) => seconds),
        ),
      );
      if (nodes === sizes.at(-2)) rows.push(await whileReplaced(simulated, nodes));
      if (nodes === sizes.at(-1)) rows.push(...(await costs(simulated, nodes, rounds)));
      await simulated.stopController();
    }
    return rows;
  },
};

/** Seconds from the Secret until Ready, and what the controller used. */
type Rotation = Readonly<{ seconds: number; requests: number; megabytes: number }>;

async function rotate(simulated: Simulated): Promise<Rotation> {
  await sleep(10_000);
  const before = await simulated.usage();
  const auth = Buffer.from(`bench:${Date.now()}`).toString("base64");
  const document = JSON.stringify({ auths: { "private.example": { auth } } });
  const { begun, at } = await putAndWait(simulated, document, 1200);
  return { seconds: (at - begun) / 1000, ...between(before, await simulated.usage()) };
}

const between = (before: Usage, after: Usage) => ({
  requests: after.requests - before.requests,
  megabytes: (after.bytes - before.bytes) / 1e6,
});

async function whileReplaced(simulated: Simulated, nodes: number): Promise<BenchResult> {
  const stop = new AbortController();
  const replacing = simulated.replaceNodes(nodes / 2, stop.signal);
  replacing.catch(() => {});
  const seconds: number[] = [];
  try {
    for (let round = 0; round < 3; round += 1) seconds.push((await rotate(simulated)).seconds);
  } finally {
    stop.abort();
    await replacing;
  }
  const name = `${nodes} simulated nodes, half of them replaced in an hour, Secret written to Ready`;
  return measure({ name, unit: "s" }, seconds);
}

async function costs(
  simulated: Simulated,
  nodes: number,
  rounds: readonly Rotation[],
): Promise<BenchResult[]> {
  const name = `${nodes} simulated nodes`;
  // The agents of the last rotation report within some seconds.
  await sleep(30_000);
  const before = await simulated.usage();
  await sleep(restMinutes * 60_000);
  const after = await simulated.usage();
  return [
    measure(
      { name: `${name}, the controller's requests in one rotation`, unit: "requests" },
      rounds.map(({ requests }) => requests),
    ),
    measure(
      { name: `${name}, bytes that the controller reads in one rotation`, unit: "MB" },
      rounds.map(({ megabytes }) => megabytes),
    ),
    measure({ name: `${name}, controller's peak RSS`, unit: "MiB" }, [after.rssMiB]),
    measure({ name: `${name}, controller's CPU in ${restMinutes} minutes at rest`, unit: "s" }, [
      after.cpuSeconds - before.cpuSeconds,
    ]),
  ];
}

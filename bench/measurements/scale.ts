/**
 * Rollouts on 5,000 simulated nodes (1 % of them unreachable, 5 % replaced per hour), and the idle
 * controller afterwards.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { progress } from "#test/cluster/run.ts";
import type { Measurement } from "../result/bench.ts";
import { publishedIn, putAndWait } from "../testbed/change.ts";
import { measure, type BenchResult } from "../result/result.ts";
import type { Simulated } from "../simulated/simulated.ts";
import { sampleWindow } from "../simulated/window.ts";

/** The default of spec.rollout.maxUnavailable. */
const budget = "10%";
const restMinutes = 3;
const goals = { unused: 10, mebibytes: 160 };

export const scale: Measurement = {
  name: "scale",
  run: async (bench) => {
    const nodes = bench.quick ? 500 : 5000;
    const simulated = await bench.simulated(nodes);
    await simulated.startController(budget);
    await write(simulated);
    const stop = new AbortController();
    const replacing = simulated.replaceNodes(nodes / 20, stop.signal);
    replacing.catch(() => {});
    const unused: number[] = [];
    try {
      for (let round = 0; round < (bench.quick ? 1 : 3); round += 1) {
        await sleep(10_000);
        unused.push(await rollOut(simulated));
      }
    } finally {
      stop.abort();
      await replacing;
    }
    const rest = await atRest(simulated);
    const { rssMiB } = await simulated.usage();
    await simulated.stopController();
    return rowsOf(nodes, unused, rssMiB, rest);
  },
};

async function write(simulated: Simulated): Promise<void> {
  const auth = Buffer.from(`bench:${Date.now()}`).toString("base64");
  const document = JSON.stringify({ auths: { "private.example": { auth } } });
  await putAndWait(simulated, document, 1200);
}

/** Makes one change. Returns the percentage of the window that was unused while nodes waited. */
async function rollOut(simulated: Simulated): Promise<number> {
  const before = revisionOf(simulated);
  const over = new AbortController();
  const published = () => {
    const now = revisionOf(simulated);
    return now > before ? now : undefined;
  };
  const size = Math.ceil(simulated.nodes / 10);
  const sampling = sampleWindow(simulated, published, size, over.signal);
  sampling.catch(() => {});
  try {
    await write(simulated);
    over.abort();
    const shares = await sampling;
    if (shares.length === 0) throw new Error("no node ever waited");
    const used = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    return 100 * (1 - used);
  } finally {
    over.abort();
  }
}

function revisionOf({ global }: Simulated): number {
  const secret = global.current();
  return secret === undefined ? 0 : publishedIn(secret);
}

/** Seconds of CPU that the idle controller uses in `restMinutes`. */
async function atRest(simulated: Simulated): Promise<number> {
  // The node that joined last starts its agent after 45 s, and proves the revision some seconds
  // later.
  await sleep(90_000);
  const before = await simulated.usage();
  await sleep(restMinutes * 60_000);
  const after = await simulated.usage();
  // The controller uses most of its CPU time for the bytes that it reads.
  const [asked, read] = [after.requests - before.requests, after.bytes - before.bytes];
  progress(`at rest: ${asked} requests, ${(read / 1e6).toFixed(1)} MB read`);
  return after.cpuSeconds - before.cpuSeconds;
}

function rowsOf(
  nodes: number,
  unused: readonly number[],
  rssMiB: number,
  rest: number,
): BenchResult[] {
  const name = `${nodes} simulated nodes`;
  return [
    measure(
      { name: `${name}, window unused while nodes wait`, unit: "%", atMost: goals.unused },
      unused,
    ),
    measure({ name: `${name}, controller's peak RSS`, unit: "MiB", atMost: goals.mebibytes }, [
      rssMiB,
    ]),
    measure({ name: `${name}, controller's CPU in ${restMinutes} minutes at rest`, unit: "s" }, [
      rest,
    ]),
  ];
}

/**
 * `npm run bench [-- --quick] [--only NAME] [--json FILE] [--write]`: measures the built product
 * and prints one table. Measurements of nodes use a real cluster; measurements of the controller
 * use simulated nodes and a real API server. You can repeat `--only`. `--write` puts the table into
 * docs/inside/performance.md. Exit code 0: every goal is met. 1: a goal is missed, or a measurement
 * failed. 2: `--write` is refused.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bundle } from "../tools/build/bundle.ts";
import { progress, run } from "../test/cluster/run.ts";
import { useOptimised } from "../test/cluster/setup.ts";
import { Testbed } from "./testbed/testbed.ts";
import type { Bench, Measurement } from "./result/bench.ts";
import { ensureInForce } from "./testbed/change.ts";
import { agentCpu } from "./processes/agent-cpu.ts";
import { agentMemory } from "./processes/agent-memory.ts";
import { ailing, joinedClusters } from "./measurements/clusters.ts";
import { fleetSize } from "./measurements/fleet.ts";
import { probes } from "./measurements/probes.ts";
import { provider } from "./measurements/provider.ts";
import { rotation } from "./measurements/rotation.ts";
import { scale } from "./measurements/scale.ts";
import { tenants } from "./measurements/tenants.ts";
import { unwritable, writePage, type Checkout } from "./result/page.ts";
import { verdict, type BenchResult } from "./result/result.ts";
import { Simulated } from "./simulated/simulated.ts";
import { json, headingOf, table, type BenchRun } from "./result/table.ts";

/**
 * In this order, the measurements only add nodes to a cluster and never remove any. Together they
 * must have at most 30 rows, so that people read the page.
 */
const all: readonly Measurement[] = [
  agentCpu,
  agentMemory,
  probes,
  rotation,
  provider,
  scale,
  fleetSize,
  ailing,
  joinedClusters,
  tenants,
];

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    json: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
if (!values.quick) useOptimised();
const chosen = all.filter(({ name }) => values.only?.includes(name) ?? true);
if (chosen.length < (values.only?.length ?? 1)) {
  throw new Error(`--only: give one of ${all.map(({ name }) => name).join(", ")}`);
}

let testbed: Testbed | undefined;
let simulated: Simulated | undefined;

const bench: Bench = {
  quick: values.quick,
  async real(nodes) {
    testbed ??= await Testbed.start();
    await testbed.grow(nodes);
    await testbed.install();
    await ensureInForce(testbed);
    return testbed;
  },
  async simulated(nodes) {
    testbed?.[Symbol.dispose]();
    testbed = undefined;
    if (simulated !== undefined && simulated.nodes > nodes) {
      simulated[Symbol.dispose]();
      simulated = undefined;
    }
    simulated ??= await Simulated.start();
    await simulated.grow(nodes);
    return simulated;
  },
};

const git = async (...args: string[]) => (await run(["git", ...args])).trim();
const tree = async (): Promise<Checkout> => ({
  commit: await git("rev-parse", "--short=12", "HEAD"),
  changed: await git("status", "--porcelain"),
});
const refuse = (why: string) => {
  process.stderr.write(`${why}\n`);
  process.exit(2);
};
const only = values.only !== undefined;
const before = await tree();
const no = values.write ? unwritable(only, before) : "";
if (no !== "") refuse(no);

await bundle();
const results: BenchResult[] = [];
let failed = 0;
try {
  for (const measurement of chosen) {
    progress(measurement.name);
    try {
      const newResults = await measurement.run(bench);
      results.push(...newResults);
      process.stderr.write(table(newResults));
    } catch (error) {
      // Continues, because the other measurements are still useful.
      process.stderr.write(
        `${measurement.name}: ${error instanceof Error ? error.stack : String(error)}\n`,
      );
      failed += 1;
    } finally {
      // Its nodes would keep the machine busy during the next measurements.
      simulated?.[Symbol.dispose]();
      simulated = undefined;
    }
  }
} finally {
  testbed?.[Symbol.dispose]();
}
const after = await tree();
const changed = before.changed !== "" || after.changed !== "" || before.commit !== after.commit;
const measured: BenchRun = {
  commit: before.commit,
  date: new Date(),
  quick: values.quick,
  changed,
};
process.stdout.write(`${headingOf(measured)}\n\n${table(results)}`);
if (values.json !== undefined) writeFileSync(values.json, json(measured, results));
const { code, missed } = verdict(results, failed);
process.stderr.write(missed);
if (values.write) {
  const why = unwritable(only, before, { after, failed });
  if (why !== "") refuse(why);
  writePage(measured, results);
}
process.exit(code);

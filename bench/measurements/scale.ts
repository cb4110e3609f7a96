/**
 * A change on many nodes, one of them unreachable: what our controller adds to what the DaemonSet
 * controller needs anyway for one node first and then a tenth of them at a time.
 */
import * as names from "#contract/names.ts";
import type { Bench, Measurement } from "../result/bench.ts";
import { drawLines } from "../picture/lines.ts";
import {
  currentRevision,
  isServed,
  put,
  putAdditional,
  revisionOf,
  secrets,
  syncer,
} from "../testbed/objects.ts";
import { compare, measure, type BenchResult } from "../result/result.ts";
import { interleave } from "../result/rounds.ts";
import { unreachableNodes } from "../simulated/fake-node.ts";
import type { Simulated, Usage } from "../simulated/simulated.ts";

const minReadySeconds = 5;
/** The default: a canary and ten waves, and a survey where the unreachable node is in the way. */
const budget = "10%";

/**
 * One rollout may take twice as long as the next, with our controller and without: many pairs where
 * there is a goal.
 */
const sizes = [
  { nodes: 100, count: 2 },
  { nodes: 1000, count: 7 },
  { nodes: 5000, count: 5 },
];
/** Up to the smallest size that has goals. */
const quick = sizes.slice(0, 2).map(({ nodes }) => ({ nodes, count: 1 }));

type Cost = Usage & Readonly<{ seconds: number }>;
type At = Readonly<{ nodes: number; costs: readonly Cost[] }>;

export const scale: Measurement = {
  name: "scale",
  run: async (bench) => {
    const results: BenchResult[] = [];
    const seen: At[] = [];
    for (const { nodes, count } of bench.quick ? quick : sizes) {
      const simulated = await bench.simulated(nodes);
      const pairs = await rounds(simulated, count);
      const costs = pairs.map(([cost]) => cost);
      seen.push({ nodes, costs });
      results.push(...rows(nodes, costs, pairs));
    }
    drawCosts(bench, seen);
    return results;
  },
};

async function rounds(
  simulated: Simulated,
  count: number,
): Promise<readonly (readonly [Cost, number])[]> {
  await simulated.startController(budget, minReadySeconds);
  await writeAndWait(simulated, 0);
  await simulated.stopController();
  return await interleave(
    count,
    async (round) => {
      await simulated.startController(budget, minReadySeconds);
      // What a start asks for is no part of a rollout.
      await told(simulated);
      const before = await simulated.usage();
      const begun = Date.now();
      const seconds = await writeAndWait(simulated, round + 1);
      // What is told after the last node belongs to it.
      await told(simulated);
      const after = await simulated.usage();
      await simulated.stopController();
      // The unreachable node is in the way of every wave. Without a survey that finds it this would
      // be another, cheaper, case.
      if (!hasSlot(simulated, begun)) throw new Error("the unreachable node was given no slot");
      return {
        seconds,
        requests: after.requests - before.requests,
        bytes: after.bytes - before.bytes,
        cpuSeconds: after.cpuSeconds - before.cpuSeconds,
        rssMiB: after.rssMiB,
      };
    },
    () => byHand(simulated),
  );
}

/** Nodes at a time in a wave, beside the unreachable one. */
const atATime = ({ nodes }: Simulated) => Math.ceil(((nodes + unreachableNodes) * 10) / 100);

/** Whether the template had a slot for the unreachable node, as only a survey gives it. */
function hasSlot(simulated: Simulated, since: number): boolean {
  const most = atATime(simulated) + unreachableNodes;
  return simulated.syncer.seen.some(
    ({ at, object }) =>
      at >= since && object.spec?.updateStrategy?.rollingUpdate?.maxUnavailable === most,
  );
}

/** Writes another credential; seconds until every node has it. */
async function writeAndWait(simulated: Simulated, round: number): Promise<number> {
  const auth = Buffer.from(`bench:${simulated.nodes}-${round}`).toString("base64");
  const before = currentRevision(simulated.syncer);
  const begun = Date.now();
  await putAdditional(simulated.api, JSON.stringify({ auths: { "private.example": { auth } } }));
  return (await served(simulated, begun, before + 1)) - begun / 1000;
}

/**
 * The same steps without our controller: the Secret, the template for one node, and when that one
 * has it, the budget. Seconds.
 */
async function byHand(simulated: Simulated): Promise<number> {
  const revision = currentRevision(simulated.syncer) + 1;
  const data = { [names.secretKeys.revision]: Buffer.from(String(revision)).toString("base64") };
  const begun = Date.now();
  await put(simulated.api, `${secrets}/${names.globalSecretName}`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: names.globalSecretName, namespace: names.namespace },
    data,
  });
  await roll(simulated, revision, 1);
  await simulated.syncer.first(
    `one node has revision ${revision}`,
    ({ object, gone }) =>
      !gone &&
      revisionOf(object) === revision &&
      object.status?.observedGeneration === object.metadata?.generation &&
      (object.status?.updatedNumberScheduled ?? 0) > 0 &&
      object.status?.numberAvailable === simulated.nodes,
    begun,
  );
  await roll(simulated, revision, atATime(simulated));
  return (await served(simulated, begun, revision)) - begun / 1000;
}

/** The template with this revision, for so many nodes at a time beside the unreachable one. */
async function roll({ api }: Simulated, revision: number, most: number): Promise<void> {
  const metadata = { annotations: { [names.revisionAnnotation]: String(revision) } };
  const rollingUpdate = { maxUnavailable: most + unreachableNodes };
  await put(api, syncer, {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: names.agentName, namespace: names.namespace },
    spec: { template: { metadata }, updateStrategy: { type: "RollingUpdate", rollingUpdate } },
  });
}

/** Wall clock, in seconds, at which every node had the revision. */
async function served(simulated: Simulated, since: number, revision: number): Promise<number> {
  const { at } = await simulated.syncer.first(
    `revision ${revision} is on ${simulated.nodes} nodes`,
    ({ object, gone }) =>
      !gone &&
      revisionOf(object) >= revision &&
      isServed(object, unreachableNodes) &&
      object.status?.desiredNumberScheduled === simulated.nodes + unreachableNodes,
    since,
    1200,
  );
  return at / 1000;
}

/** Waits until the controller asks for nothing more. */
async function told(simulated: Simulated): Promise<void> {
  let last = -1;
  for (;;) {
    const { requests } = await simulated.usage();
    if (requests === last) return;
    last = requests;
    await new Promise((resolve) => setTimeout(resolve, 3000));
  }
}

function rows(
  nodes: number,
  costs: readonly Cost[],
  pairs: readonly (readonly [Cost, number])[],
): BenchResult[] {
  const name = `scale, ${nodes} nodes`;
  const against = "the same steps by hand";
  const goals = nodes >= 1000;
  const row = (what: string, unit: string, of: (cost: Cost) => number, atMost?: number) =>
    measure(
      { name: `${name}, ${what}`, unit, ...(atMost !== undefined && { atMost }) },
      costs.map(of),
    );
  return [
    compare(
      { name: `${name}, rollout`, unit: "s", against, ...(goals && { atMost: 1.05 }) },
      pairs.map(([{ seconds }, hand]) => [seconds, hand]),
    ),
    row("requests", "requests/node", (cost) => cost.requests / nodes, goals ? 0.01 : undefined),
    row("read", "kB/node", (cost) => cost.bytes / 1000 / nodes, goals ? 10 : undefined),
    row("controller's CPU", "s", (cost) => cost.cpuSeconds),
    row("controller's peak RSS", "MiB", (cost) => cost.rssMiB, nodes === 5000 ? 150 : undefined),
  ];
}

function drawCosts(bench: Bench, seen: readonly At[]): void {
  const line = (name: string, of: (cost: Cost) => number) => ({
    name,
    dots: true,
    points: seen.map(
      ({ nodes, costs }) =>
        [nodes, costs.reduce((sum, cost) => sum + of(cost), 0) / costs.length] as const,
    ),
  });
  const chart = {
    title: "What one rollout costs, by number of simulated nodes",
    x: "nodes",
    y: "",
    logarithmic: true,
    lines: [
      line("rollout, s", (cost) => cost.seconds),
      line("requests", (cost) => cost.requests),
      line("read, kB", (cost) => cost.bytes / 1000),
      line("CPU, ms", (cost) => cost.cpuSeconds * 1000),
      line("peak RSS, MiB", (cost) => cost.rssMiB),
    ],
  };
  bench.picture("scale", drawLines(chart));
}

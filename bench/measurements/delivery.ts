/**
 * Rotations side by side, on the same four nodes: by a restart of each kubelet, by a provider that
 * it asks at each pull, and by waiting until it reads its file again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliverySpec } from "#api/global-pull-secret.ts";
import { providerFiles } from "#contract/names.ts";
import { podOn, untilState } from "../../test/e2e/pods.ts";
import type { Bench, Measurement } from "../bench.ts";
import { calm } from "../change.ts";
import { type Budget, isServed, putAdditional, revisionOf } from "../objects.ts";
import { compare, measure, type Result } from "../result.ts";
import type { Bed, BedNode } from "../testbed.ts";

const provider: DeliverySpec = {
  mode: "CredentialProvider",
  credentialProvider: { registration: "Preinstalled", scope: "All" },
};

/** Of one mode: milliseconds of each rotation, and what all of them did to kubelets and pods. */
type Measured = Readonly<{
  served: readonly number[];
  restarts: number;
  silence: number;
  disturbed: number;
}>;

/** A node's pod that nobody touches. */
const bystander = (node: BedNode) => `bystander-${node.node.name}`;

export const delivery: Measurement = {
  name: "delivery",
  run: async (bench) => {
    const bed = await bench.real(4);
    await standBy(bed);
    const results = [
      ...(await atBudget(bench, bed, "10%")),
      ...(await atBudget(bench, bed, "100%")),
      ...(await waiting(bench, bed)),
    ];
    const execs = measure(
      { name: "delivery, times the provider is run for a pull", unit: "execs", atMost: 1 },
      [await execsPerPull(bed)],
    );
    const exec = measure(
      { name: "delivery, the provider's answer to a pull", unit: "ms", atMost: 5 },
      await Promise.all(bed.nodes.map(execOf)),
    );
    await bed.install();
    await bed.cluster.kubectl("delete", "pods", "-n", "default", "--all");
    return [...results, execs, exec];
  },
};

async function atBudget(bench: Bench, bed: Bed, budget: Budget): Promise<Result[]> {
  const count = bench.quick ? 5 : 100;
  await bed.install(budget, { mode: "Restart" });
  // Each costs the four kubelets a restart: as many as tell the time.
  const restarting = await rotations(bed, Math.min(count, 12), hasRestarted);
  await bed.install(budget, provider);
  const asked = await rotations(bed, count, hasAnswer);
  const name = (what: string) => `delivery, budget ${budget}, ${what}`;
  const row = (what: string, unit: string, value: number, atMost?: number) =>
    measure({ name: name(what), unit, ...(atMost !== undefined && { atMost }) }, [value]);
  const rounds = restarting.served.map(
    (slow, round) => [(asked.served[round] ?? 0) / 1000, slow / 1000] as const,
  );
  const many = `${asked.served.length} rotations`;
  return [
    compare(
      {
        name: name("Secret written to last node's next pull"),
        unit: "s",
        against: "mode Restart",
        atMost: 0.3,
      },
      rounds,
    ),
    row(
      `kubelet restarts of ${restarting.served.length} rotations, Restart`,
      "restarts",
      restarting.restarts,
    ),
    row(`kubelet restarts of ${many}, CredentialProvider`, "restarts", asked.restarts, 0),
    row("healthz silent, Restart", "s", restarting.silence / 1000),
    row("healthz silent, CredentialProvider", "s", asked.silence / 1000, 0),
    row("pods disturbed, Restart", "pods", restarting.disturbed),
    row(`pods disturbed by ${many}, CredentialProvider`, "pods", asked.disturbed, 0),
  ];
}

/**
 * Mode Reread, on the same nodes: five minutes a rotation, so once, and not in a quick run. It is
 * over when its agents say that each kubelet must have read its file.
 */
async function waiting(bench: Bench, bed: Bed): Promise<Result[]> {
  if (bench.quick) return [];
  await bed.install("100%", { mode: "Reread" });
  const { served, restarts, silence, disturbed } = await rotations(bed, 1, undefined);
  const row = (what: string, unit: string, value: number, atMost?: number) => {
    const name = `delivery, Reread, ${what}`;
    return measure({ name, unit, ...(atMost !== undefined && { atMost }) }, [value]);
  };
  return [
    row("Secret written to last node's next pull", "s", (served[0] ?? 0) / 1000),
    row("kubelet restarts", "restarts", restarts, 0),
    row("healthz silent", "s", silence / 1000, 0),
    row("pods disturbed", "pods", disturbed, 0),
  ];
}

/** When the node's next pull has it: resolves with the time, in milliseconds. */
type Arrival = (one: BedNode, auth: string, begun: number) => Promise<number>;

const hasRestarted: Arrival = async ({ healthz }, _auth, begun) => await healthz.backAfter(begun);

const hasAnswer: Arrival = async ({ node }, auth) => {
  const [, password = ""] = Buffer.from(auth, "base64").toString().split(":");
  for (;;) {
    if (node.readFile(providerFiles.answer)?.includes(password) === true) return Date.now();
    await sleep(5);
  }
};

/** `arrival`: undefined where nothing tells it but the agents' Ready. */
async function rotations(bed: Bed, count: number, arrival: Arrival | undefined): Promise<Measured> {
  const { registry } = bed.cluster;
  const served: number[] = [];
  const before = await invocations(bed);
  const marks = await bystanders(bed);
  const since = Date.now();
  let restarts = 0;
  let known = before;
  for (let round = 0; round < count; round++) {
    await calm();
    const user = bed.nextRevision() % 2 === 0 ? "original" : "additional";
    const begun = Date.now();
    const { auth } = registry.auth(user);
    const arrivals = arrival ? bed.nodes.map((one) => arrival(one, auth, begun)) : [];
    const revision = Math.max(...bed.syncer.seen.map(({ object }) => revisionOf(object)));
    await putAdditional(bed.api, registry.document(user));
    const arrived = await Promise.all(arrivals);
    const { at } = await bed.syncer.first(
      "every node has it",
      ({ object, gone }) => !gone && revisionOf(object) > revision && isServed(object),
      begun,
      // A kubelet that is not restarted reads its file again within 305 s of the rename.
      arrival ? 300 : 600,
    );
    served.push(Math.max(...(arrival ? arrived : [at])) - begun);
    const now = await invocations(bed);
    restarts += now.filter((one, at) => one !== known[at]).length;
    known = now;
  }
  const later = await bystanders(bed);
  const disturbed = later.filter((one, node) => one !== marks[node]).length;
  await isPulled(bed);
  const silence = bed.nodes.reduce((sum, { healthz }) => sum + healthz.silence(since), 0);
  return { served, restarts, silence, disturbed };
}

async function standBy(bed: Bed): Promise<void> {
  const image = await bed.cluster.registry.push(
    bed.cluster.kit.images.app,
    "bystander:1",
    bed.cluster.registry.publicHost,
  );
  const pods = bed.nodes.map((one) => podOn(one.node, bystander(one), image));
  await bed.cluster.apply(...pods);
  for (const one of bed.nodes) await untilState(bed.cluster, bystander(one), "Running");
}

type Bystander = Readonly<{
  status: {
    conditions: { type: string; status: string; lastTransitionTime: string }[];
    containerStatuses: { restartCount: number; containerID: string }[];
  };
}>;

/** Of each node's pod: its container, its restarts, and since when it has been Ready. */
async function bystanders(bed: Bed): Promise<string[]> {
  const found = bed.nodes.map(async (one) => {
    const pod = await bed.cluster.get<Bystander>("pod", bystander(one), "-n", "default");
    const ready = pod?.status.conditions.find(({ type }) => type === "Ready");
    return JSON.stringify([ready, pod?.status.containerStatuses]);
  });
  return await Promise.all(found);
}

/** How often kubelets have run a provider, by their own metric. */
async function execs(bed: Bed): Promise<number> {
  const name = /^kubelet_credential_provider_plugin_duration_count\b.* (\d+)$/gm;
  const texts = await Promise.all(
    bed.nodes.map(({ node }) =>
      bed.cluster.kubectl("get", "--raw", `/api/v1/nodes/${node.name}/proxy/metrics`),
    ),
  );
  const all = texts.flatMap((text) =>
    Array.from(text.matchAll(name), ([, count]) => Number(count)),
  );
  return all.reduce((sum, one) => sum + one, 0);
}

async function execsPerPull(bed: Bed): Promise<number> {
  const before = await execs(bed);
  await isPulled(bed);
  const run = (await execs(bed)) - before;
  // Every pull above was served by it: another name of the metric must not pass for a good figure.
  if (run === 0) throw new Error("no kubelet tells that it has run its provider");
  return run / bed.nodes.length;
}

async function invocations({ nodes }: Bed): Promise<readonly string[]> {
  const units = await Promise.all(nodes.map(({ node }) => node.unit(["InvocationID"])));
  return units.map(({ InvocationID }) => InvocationID);
}

/** That it serves is not taken on trust: every node pulls an image that it has not. */
async function isPulled(bed: Bed): Promise<void> {
  const number = Date.now();
  const image = await bed.cluster.pushApp(`team/app:delivery-${number}`);
  const name = (one: BedNode) => `delivery-${number}-${one.node.name}`;
  await bed.cluster.apply(...bed.nodes.map((one) => podOn(one.node, name(one), image)));
  for (const one of bed.nodes) await untilState(bed.cluster, name(one), "Running");
  const names = bed.nodes.map(name);
  await bed.cluster.kubectl("delete", "pods", "-n", "default", ...names);
}

/** Milliseconds that the kubelet waits for the answer, fork and exec of a shell and cat with it. */
async function execOf({ node }: BedNode): Promise<number> {
  const times = 200;
  const script = `/var/lib/kubelet/${providerFiles.script}`;
  const loop = `i=0; while [ $i -lt ${times} ]; do ${script} </dev/null >/dev/null; i=$((i+1)); done`;
  const empty = await timed(() => node.exec(["sh", "-c", "true"]));
  return ((await timed(() => node.exec(["sh", "-c", loop]))) - empty) / times;
}

async function timed(what: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await what();
  return performance.now() - begun;
}

/**
 * Rotations side by side, on the same four nodes: by a restart of each kubelet, by a provider that
 * it asks at each pull, and by waiting until it reads its file again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliverySpec } from "#api/global-pull-secret.ts";
import { providerFiles } from "#contract/names.ts";
import { podOn, untilState } from "#test/e2e/pods.ts";
import type { Bench, Measurement } from "../result/bench.ts";
import { calm } from "../testbed/change.ts";
import {
  type Budget,
  currentRevision,
  isServed,
  putAdditional,
  revisionOf,
} from "../testbed/objects.ts";
import { compare, measure, type BenchResult } from "../result/result.ts";
import type { Testbed, TestbedNode } from "../testbed/testbed.ts";

const provider: DeliverySpec = {
  mode: "CredentialProvider",
  credentialProvider: { scope: "All" },
};

/** Of one mode: milliseconds of each rotation, and what all of them did to kubelets and pods. */
type Measured = Readonly<{
  served: readonly number[];
  restarts: number;
  silence: number;
  disturbed: number;
}>;

/** A node's pod that nobody touches. */
const bystander = (node: TestbedNode) => `bystander-${node.node.name}`;

export const delivery: Measurement = {
  name: "delivery",
  run: async (bench) => {
    const testbed = await bench.real(4);
    await standBy(testbed);
    const results = [
      ...(await atBudget(bench, testbed, "10%")),
      ...(await atBudget(bench, testbed, "100%")),
      ...(await waiting(testbed)),
    ];
    const execs = measure(
      { name: "delivery, times the provider is run for a pull", unit: "execs", atMost: 1 },
      [await execsPerPull(testbed)],
    );
    const exec = measure(
      { name: "delivery, the provider's answer to a pull", unit: "ms", atMost: 5 },
      await Promise.all(testbed.nodes.map(execOf)),
    );
    await testbed.install();
    await testbed.cluster.kubectl("delete", "pods", "-n", "default", "--all");
    return [...results, execs, exec];
  },
};

async function atBudget(bench: Bench, testbed: Testbed, budget: Budget): Promise<BenchResult[]> {
  const few = bench.quick ? 5 : 12;
  await testbed.install(budget, { mode: "Restart" });
  const restarting = await rotations(testbed, few, hasRestarted);
  await testbed.install(budget, provider);
  // That nothing is restarted is told by a hundred, at the budget that could restart all at once.
  // Those that are compared begin as the others did; the rest follow each other at once.
  const asked = await rotations(testbed, budget === "100%" ? 100 : few, hasAnswer, few);
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
    measure(
      {
        name: name("Secret written to last node's next pull, CredentialProvider"),
        unit: "s",
        atMost: 2.5,
      },
      rounds.map(([seconds]) => seconds),
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
 * Mode Reread, on the same nodes: five minutes a rotation, so once. It is over when its agents say
 * that each kubelet must have read its file.
 */
async function waiting(testbed: Testbed): Promise<BenchResult[]> {
  await testbed.install("100%", { mode: "Reread" });
  const { served, restarts, silence, disturbed } = await rotations(testbed, 1, undefined);
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
type Arrival = (one: TestbedNode, auth: string, begun: number) => Promise<number>;

const hasRestarted: Arrival = async ({ healthz }, _auth, begun) => await healthz.backAfter(begun);

const hasAnswer: Arrival = async ({ node }, auth) => {
  const [, password = ""] = Buffer.from(auth, "base64").toString().split(":");
  for (;;) {
    if (node.readFile(providerFiles.answer)?.includes(password) === true) return Date.now();
    await sleep(5);
  }
};

/**
 * `arrival`: undefined where nothing tells it but the agents' Ready. `calms`: how many of the
 * rotations begin when the one before has come to rest.
 */
async function rotations(
  testbed: Testbed,
  count: number,
  arrival: Arrival | undefined,
  calms = count,
): Promise<Measured> {
  const { registry } = testbed.cluster;
  const served: number[] = [];
  const before = await invocations(testbed);
  const marks = await bystanders(testbed);
  const since = Date.now();
  let restarts = 0;
  let known = before;
  for (let round = 0; round < count; round++) {
    if (round < calms) await calm();
    const user = testbed.nextRevision() % 2 === 0 ? "original" : "additional";
    const begun = Date.now();
    const { auth } = registry.auth(user);
    const arrivals = arrival ? testbed.nodes.map((one) => arrival(one, auth, begun)) : [];
    const revision = currentRevision(testbed.syncer);
    await putAdditional(testbed.api, registry.document(user));
    const arrived = await Promise.all(arrivals);
    const { at } = await testbed.syncer.first(
      "every node has it",
      ({ object, gone }) => !gone && revisionOf(object) > revision && isServed(object),
      begun,
      // A kubelet that is not restarted reads its file again within 305 s of the rename.
      arrival ? 300 : 600,
    );
    served.push(Math.max(...(arrival ? arrived : [at])) - begun);
    const now = await invocations(testbed);
    restarts += now.filter((one, at) => one !== known[at]).length;
    known = now;
  }
  const later = await bystanders(testbed);
  const disturbed = later.filter((one, node) => one !== marks[node]).length;
  await isPulled(testbed);
  const silence = testbed.nodes.reduce((sum, { healthz }) => sum + healthz.silence(since), 0);
  return { served, restarts, silence, disturbed };
}

async function standBy(testbed: Testbed): Promise<void> {
  const image = await testbed.cluster.registry.push(
    testbed.cluster.kit.images.app,
    "bystander:1",
    testbed.cluster.registry.publicHost,
  );
  const pods = testbed.nodes.map((one) => podOn(one.node, bystander(one), image));
  await testbed.cluster.apply(...pods);
  for (const one of testbed.nodes) await untilState(testbed.cluster, bystander(one), "Running");
}

type Bystander = Readonly<{
  status: {
    conditions: { type: string; status: string; lastTransitionTime: string }[];
    containerStatuses: { restartCount: number; containerID: string }[];
  };
}>;

/** Of each node's pod: its container, its restarts, and since when it has been Ready. */
async function bystanders(testbed: Testbed): Promise<string[]> {
  const found = testbed.nodes.map(async (one) => {
    const pod = await testbed.cluster.get<Bystander>("pod", bystander(one), "-n", "default");
    const ready = pod?.status.conditions.find(({ type }) => type === "Ready");
    return JSON.stringify([ready, pod?.status.containerStatuses]);
  });
  return await Promise.all(found);
}

/** How often kubelets have run a provider, by their own metric. */
async function execs(testbed: Testbed): Promise<number> {
  const name = /^kubelet_credential_provider_plugin_duration_count\b.* (\d+)$/gm;
  const texts = await Promise.all(
    testbed.nodes.map(({ node }) =>
      testbed.cluster.kubectl("get", "--raw", `/api/v1/nodes/${node.name}/proxy/metrics`),
    ),
  );
  const all = texts.flatMap((text) =>
    Array.from(text.matchAll(name), ([, count]) => Number(count)),
  );
  return all.reduce((sum, one) => sum + one, 0);
}

async function execsPerPull(testbed: Testbed): Promise<number> {
  const before = await execs(testbed);
  await isPulled(testbed);
  const run = (await execs(testbed)) - before;
  // Every pull above was served by it: another name of the metric must not pass for a good figure.
  if (run === 0) throw new Error("no kubelet tells that it has run its provider");
  return run / testbed.nodes.length;
}

async function invocations({ nodes }: Testbed): Promise<readonly string[]> {
  const units = await Promise.all(nodes.map(({ node }) => node.unit(["InvocationID"])));
  return units.map(({ InvocationID }) => InvocationID);
}

/** That it serves is not taken on trust: every node pulls an image that it has not. */
async function isPulled(testbed: Testbed): Promise<void> {
  const number = Date.now();
  const image = await testbed.cluster.pushApp(`team/app:delivery-${number}`);
  const name = (one: TestbedNode) => `delivery-${number}-${one.node.name}`;
  await testbed.cluster.apply(...testbed.nodes.map((one) => podOn(one.node, name(one), image)));
  for (const one of testbed.nodes) await untilState(testbed.cluster, name(one), "Running");
  const names = testbed.nodes.map(name);
  await testbed.cluster.kubectl("delete", "pods", "-n", "default", ...names);
}

/** Milliseconds that the kubelet waits for the answer, fork and exec of a shell and cat with it. */
async function execOf({ node }: TestbedNode): Promise<number> {
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

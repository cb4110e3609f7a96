/**
 * Rotations side by side, on the same four nodes: by a restart of each kubelet, and by a provider
 * that it asks at each pull.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliverySpec } from "#api/global-pull-secret.ts";
import { providerFiles } from "#contract/names.ts";
import { podOn, untilState } from "../../test/e2e/pods.ts";
import type { Bench, Measurement } from "../bench.ts";
import { calm } from "../change.ts";
import { isServed, putAdditional, revisionOf } from "../objects.ts";
import { compare, measure, type Result } from "../result.ts";
import type { Bed, BedNode } from "../testbed.ts";

const provider: DeliverySpec = {
  mode: "CredentialProvider",
  credentialProvider: { registration: "Preinstalled", scope: "All" },
};

/** Of one mode: milliseconds of each rotation, and what all of them did to the kubelets. */
type Measured = Readonly<{ served: readonly number[]; restarts: number; silence: number }>;

export const delivery: Measurement = {
  name: "delivery",
  run: async (bench) => {
    const bed = await bench.real(4);
    const results = [
      ...(await atBudget(bench, bed, "10%")),
      ...(await atBudget(bench, bed, "100%")),
    ];
    const exec = measure(
      { name: "delivery, the provider's answer to a pull", unit: "ms", atMost: 5 },
      await Promise.all(bed.nodes.map(execOf)),
    );
    await bed.install();
    return [...results, exec];
  },
};

async function atBudget(bench: Bench, bed: Bed, budget: string): Promise<Result[]> {
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

async function rotations(bed: Bed, count: number, arrival: Arrival): Promise<Measured> {
  const { registry } = bed.cluster;
  const served: number[] = [];
  const before = await invocations(bed);
  const since = Date.now();
  let restarts = 0;
  let known = before;
  for (let round = 0; round < count; round++) {
    await calm();
    const user = bed.nextRevision() % 2 === 0 ? "original" : "additional";
    const begun = Date.now();
    const arrivals = bed.nodes.map((one) => arrival(one, registry.auth(user).auth, begun));
    const revision = Math.max(...bed.syncer.seen.map(({ object }) => revisionOf(object)));
    await putAdditional(bed.api, registry.document(user));
    served.push(Math.max(...(await Promise.all(arrivals))) - begun);
    await bed.syncer.first(
      "every node has it",
      ({ object, gone }) => !gone && revisionOf(object) > revision && isServed(object),
      begun,
    );
    const now = await invocations(bed);
    restarts += now.filter((one, at) => one !== known[at]).length;
    known = now;
  }
  await isPulled(bed);
  const silence = bed.nodes.reduce((sum, { healthz }) => sum + healthz.silence(since), 0);
  return { served, restarts, silence };
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
  await bed.cluster.kubectl("delete", "pods", "-n", "default", "--all");
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

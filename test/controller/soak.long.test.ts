/**
 * Causes random faults around the controller for 15 minutes or SOAK_MINUTES, and checks after each
 * fault that every node and every object is as declared.
 *
 * In the first half of the time controllers are killed. In the second half the same controller
 * stays. After the warm-up, neither its memory nor the number of its descriptors may grow. API
 * server and DaemonSet controller are real, the nodes are simulated.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject } from "@kubernetes/client-node";
import { until } from "../cluster/await.ts";
import { growth, type Held, heldBy, warmUp } from "../growth.ts";
import { Random } from "../random.ts";
import * as plane from "./plane.ts";
import { content, ownPaths } from "./plane.ts";
import { kubelets, on, rig, running, undeclare } from "./rig.ts";
import { steer, untilCondition } from "./steer.ts";
import { TcpProxy } from "./tcp-proxy.ts";

const half = Number(process.env["SOAK_MINUTES"] ?? 15) * 30_000;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const random = new Random(seed);

rig();

let proxy: TcpProxy;
/** The declared password; undefined after a withdrawal. */
let password: string | undefined;
let passwords = 0;
let joined = 0;

async function change(): Promise<void> {
  passwords += 1;
  password = `password${passwords}`;
  await plane.declare(on, content(password));
}

async function withdraw(): Promise<void> {
  await undeclare();
  password = undefined;
}

async function remove(path: string): Promise<void> {
  const object = await on.api.get<KubernetesObject>(path);
  await on.api.remove(path, object?.metadata?.uid ?? assert.fail(path));
}

async function startController(): Promise<void> {
  running.push(plane.startController(plane.kubeconfigBehind(proxy, on)));
}

/** Waits until every node has the declared content, and all of our objects exist, or none. */
async function settled(): Promise<void> {
  const expected = password === undefined ? undefined : content(password);
  const seen = async () => ({
    nodes: kubelets.model.nodes.map(({ name, applied }) => [name, applied === expected]),
    missing: await missing(),
    published: (await plane.published(on))?.document === expected,
  });
  const isSettled = async () => {
    const { nodes, missing, published } = await seen();
    const count = expected === undefined ? ownPaths.length : 0;
    return published && missing.length === count && nodes.every(([, hasIt]) => hasIt);
  };
  await until("nodes and objects are as declared", isSettled, { timeout: 240_000, seen });
}

async function missing(): Promise<readonly string[]> {
  const objects = await Promise.all(ownPaths.map((path) => on.api.get(path)));
  return ownPaths.filter((_, at) => objects[at] === undefined);
}

type Fault = () => Promise<void>;

/** The sleeps are the lengths of outages. */
const staying: Readonly<Record<string, Fault>> = {
  change,
  "an object is deleted": () => remove(random.pick(ownPaths)),
  async "a NodePullSecret is deleted"() {
    await on.cluster.kubectl(
      "delete",
      "nps",
      random.pick(kubelets.model.nodes).name,
      "-n",
      "kube-system",
    );
  },
  async "the document is edited"() {
    const data = { ".dockerconfigjson": Buffer.from('{"auths":{}}').toString("base64") };
    const patch = ["--patch", JSON.stringify({ data })];
    await on.cluster.kubectl(
      "patch",
      "secret",
      "global-pull-secret",
      "-n",
      "kube-system",
      ...patch,
    );
  },
  async "the API server cannot be reached"() {
    proxy.shut();
    await sleep(random.below(3000));
    proxy.open();
  },
  async "the controller stands still"() {
    running.at(-1)?.signal("SIGSTOP");
    await sleep(random.below(3000));
    running.at(-1)?.signal("SIGCONT");
  },
  async "a node is replaced"() {
    joined += 1;
    await kubelets.remove(random.pick(kubelets.model.nodes).name);
    await kubelets.add(`joined-${joined}`);
  },
  async "the Secret is malformed"() {
    await plane.declare(on, `{"auths":[]}`);
    await untilCondition(on, "SourcesAccepted", "False");
    await plane.declare(on, content(password ?? assert.fail()));
  },
};

const coming: Readonly<Record<string, Fault>> = {
  ...staying,
  async "the controller is killed"() {
    await running.pop()?.kill();
    await plane.freeLease(on);
    await startController();
  },
};

let rounds = 0;

/** Each round delivers a Secret, causes four faults and withdraws the Secret. */
async function injectFaults(faults: Readonly<Record<string, Fault>>, after: () => void) {
  const end = performance.now() + half;
  while (performance.now() < end) {
    const chosen = Array.from({ length: 4 }, () => random.pick(Object.keys(faults)));
    const steps = [change, ...chosen.map((name) => faults[name] ?? assert.fail()), withdraw];
    rounds += 1;
    try {
      for (const step of steps) {
        await step();
        await settled();
      }
    } catch (error) {
      const output = running.at(-1)?.output().slice(-3000);
      const what = `round ${rounds}, ${chosen.join(", ")}: ${(error as Error).message}`;
      throw new Error(`${what}\n${output}`, { cause: error });
    }
    after();
  }
}

test("keeps nodes and objects as declared through random faults, and leaks no memory and no descriptors", async (t) => {
  t.diagnostic(`SEED=${seed}`);
  await using before = await TcpProxy.before(on.cluster.server);
  proxy = before;
  await steer(on);
  await startController();
  await injectFaults(coming, () => {});
  const [began, { pid }] = [performance.now(), running.at(-1) ?? assert.fail()];
  const held: Held[] = [];
  await injectFaults(staying, () => {
    assert.equal(running.at(-1)?.pid, pid, "the controller ended");
    held.push(heldBy(pid, (performance.now() - began) / 60_000));
  });
  const first = held.find(({ minutes }) => minutes >= warmUp) ?? held[0] ?? assert.fail();
  const last = held.at(-1) ?? assert.fail();
  const grown = growth(held, last.minutes);
  t.diagnostic(`${rounds} rounds; memory and descriptors of the controller that stayed:`);
  t.diagnostic(`${first.kib} to ${last.kib} KiB, ${first.descriptors} to ${last.descriptors}`);
  // Four more connections to the API server can be open.
  assert.ok(last.descriptors <= first.descriptors + 4, "descriptors were left open");
  // V8 gives freed pages back when it likes, so less than 16 MiB says nothing.
  assert.ok((grown ?? 0) < 16_384, `the memory grew by ${grown} KiB`);
});

/**
 * Many nodes without kubelets. Real parts: etcd, API server, DaemonSet controller, scheduler, and
 * the product's built controller. The tests' driver (test/harness/nodes) simulates the nodes; its
 * agents answer an order within three seconds. Other measurements show how long a real node takes.
 * One node in a hundred is unreachable.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import * as names from "#contract/names.ts";
import { collections } from "#kube/client/paths.ts";
import { until } from "#test/cluster/await.ts";
import { parentGroups, processes } from "#test/cluster/host/cgroup.ts";
import { startCluster, type Cluster } from "#test/cluster/cluster.ts";
import { startDaemon } from "#test/cluster/host/daemon.ts";
import { inNamespace, networkOf } from "#test/cluster/host/network.ts";
import { directEnvironment } from "#test/cluster/run.ts";
import { writeKubeconfig } from "#test/controller/plane.ts";
import { steer } from "#test/controller/steer.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { isRunning } from "#test/harness/nodes/nodes.ts";
import { inParallel } from "#test/harness/nodes/requests.ts";
import { applyManifests } from "#test/install/overlay.ts";
import { slotOf } from "../observe/healthz.ts";
import { type Budget, secrets } from "../testbed/objects.ts";
import { probationSeconds } from "../testbed/testbed.ts";
import { unreachableNode, fakeNode } from "./fake-node.ts";
import { WatchedObjects } from "../observe/watched-objects.ts";

const root = join(import.meta.dirname, "../..");

const agentImage = "example.invalid/agent:1";

/**
 * With its default limit of 20 requests a second, the DaemonSet controller would be slower than
 * everything else: 1,000 nodes would take 100 s. A node's lease lasts 200 s instead of 40 s,
 * because frequent renewals by 5,000 nodes would overload the machine.
 */
const controllerManagerFlags = [
  "--kube-api-qps=1000",
  "--kube-api-burst=2000",
  "--concurrent-daemonset-syncs=10",
  "--node-monitor-grace-period=600s",
];
const schedulerFlags = ["--kube-api-qps=2000", "--kube-api-burst=4000"];
const leaseSeconds = 200;
/** Milliseconds from a node's join until its agent starts. A real node pulls the image first. */
const joinMilliseconds = 45_000;

/** Seconds until the stock node controller notices that a machine is dead. */
const unnoticedSeconds = 50;
/** Seconds after that until the cloud deletes the Node. */
const deletionSeconds = 10;

/** Node's flags from the Deployment, and the program. */
const controllerFlags = [
  "--max-old-space-size=96",
  "--max-semi-space-size=1",
  join(root, "dist/controller.cjs"),
];

/** The resources that the controller's process has used so far. */
export type Usage = Readonly<{
  requests: number;
  bytes: number;
  cpuSeconds: number;
  rssMiB: number;
}>;

export class Simulated implements Disposable {
  readonly cluster: Cluster;
  readonly api: Api;
  readonly object: WatchedObjects<GlobalPullSecret>;
  readonly global: WatchedObjects<V1Secret>;
  readonly driver: NodesDriver;
  readonly #kubeconfig: string;
  readonly #joined = new Map<string, number>();
  #named = 0;
  #dead = 0;
  #controller: { child: ChildProcess; metrics: string; output: string } | undefined;

  private constructor(cluster: Cluster, api: Api, kubeconfig: string) {
    this.cluster = cluster;
    this.api = api;
    this.#kubeconfig = kubeconfig;
    this.driver = new NodesDriver(api, { leaseSeconds, pace: 1000 }).start();
    this.driver.behaviour = (node) =>
      Date.now() - (this.#joined.get(node) ?? 0) < joinMilliseconds ? "never starts" : "ready";
    this.object = new WatchedObjects(api, collections.globalPullSecrets, {});
    this.global = new WatchedObjects(api, secrets, {
      fieldSelector: `metadata.name=${names.globalSecretName}`,
    });
  }

  static async start(): Promise<Simulated> {
    const cluster = await startCluster({ nodes: 0 });
    try {
      await quicken(cluster);
      await applyManifests(cluster, agentImage);
      const deployment = "deployment/global-pull-secret-controller";
      await cluster.kubectl("scale", deployment, "-n", names.namespace, "--replicas=0");
      const account = ["global-pull-secret-controller", "-n", names.namespace];
      const token = (await cluster.kubectl("create", "token", ...account, "--duration=8h")).trim();
      const admin = loadKubeConfig(cluster.kubeconfig);
      const kubeconfig = writeKubeconfig(cluster, "controller", cluster.server, token);
      const api = connect(admin, () => {});
      return new Simulated(cluster, api, kubeconfig);
    } catch (error) {
      cluster.down();
      throw error;
    }
  }

  /** The number of reachable nodes. */
  get nodes(): number {
    return this.driver.model.nodes.filter((node) => isRunning(node)).length;
  }

  /** Adds nodes up to this number, and one unreachable node for each hundred. */
  async grow(count: number): Promise<void> {
    const missing = Array.from({ length: count - this.nodes }, () => this.#nextName());
    await inParallel(missing, async (name) => {
      await this.driver.add(name, fakeNode(name));
    });
    for (; this.#dead < count / 100; this.#dead += 1)
      await this.api.create(collections.nodes, unreachableNode(`dead-${this.#dead}`));
  }

  /**
   * Replaces the oldest node with a new one, `anHour` times per hour, until `signal` aborts. The
   * old machines die as machines do: without a word.
   */
  async replaceNodes(anHour: number, signal: AbortSignal): Promise<void> {
    const leaving: Promise<void>[] = [];
    while (!signal.aborted) {
      const oldest = this.driver.model.nodes.find((node) => isRunning(node));
      const next = this.#nextName();
      this.#joined.set(next, Date.now());
      if (oldest !== undefined) leaving.push(this.#lose(oldest.name, signal));
      await this.driver.add(next, fakeNode(next));
      await sleep(3_600_000 / anHour, undefined, { signal }).catch(() => {});
    }
    await Promise.all(leaving);
  }

  /** Plays the stock node controller, and a cloud that deletes the Node of a dead machine. */
  async #lose(name: string, signal: AbortSignal): Promise<void> {
    const pause = (seconds: number) => sleep(seconds * 1000, undefined, { signal }).catch(() => {});
    this.driver.silence(name);
    await pause(unnoticedSeconds);
    await this.driver.die(name);
    await pause(deletionSeconds);
    await this.driver.remove(name);
  }

  #nextName(): string {
    this.#named += 1;
    return `fake-${this.#named}`;
  }

  /** Starts the controller with this budget; returns once it is ready. */
  async startController(maxUnavailable: Budget): Promise<void> {
    const port = 18080 + slotOf(this.cluster);
    await steer(this, { rollout: { maxUnavailable, probation: `${probationSeconds}s` } });
    const flags = [
      `--kubeconfig=${this.#kubeconfig}`,
      `--agent-image=${agentImage}`,
      `--listen=127.0.0.1:${port}`,
    ];
    const env = directEnvironment({ MALLOC_ARENA_MAX: "1" });
    const child = spawn(process.execPath, [...controllerFlags, ...flags], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const running = { child, metrics: `http://127.0.0.1:${port}`, output: "" };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data) => (running.output += String(data)));
    this.#controller = running;
    // Waits until this controller gets the Lease. A killed controller keeps the Lease until the
    // Lease expires.
    const leads = async () => (await (await fetch(`${running.metrics}/readyz`)).text()) === "ok\n";
    await until("the controller leads", leads, { seen: () => running.output });
  }

  async stopController(): Promise<void> {
    const child = this.#controller?.child;
    this.#controller = undefined;
    if (child === undefined || child.exitCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  }

  async usage(): Promise<Usage> {
    const running = this.#controller;
    if (running === undefined) throw new Error("the controller does not run");
    const metrics = await (await fetch(`${running.metrics}/metrics`)).text();
    const sum = (name: string) => {
      const lines = metrics.split("\n").filter((line) => line.startsWith(name));
      return lines.reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
    };
    const proc = (file: string, name: string) => {
      const text = readFileSync(`/proc/${running.child.pid}/${file}`, "utf8");
      return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
    };
    return {
      requests: sum("global_pull_secret_api_requests_total{"),
      cpuSeconds: sum("process_cpu_seconds_total "),
      // All bytes that the controller reads, from sockets and from (few, small) files.
      bytes: proc("io", "rchar"),
      // The peak so far.
      rssMiB: proc("status", "VmHWM") / 1024,
    };
  }

  [Symbol.dispose](): void {
    this.object[Symbol.dispose]();
    this.global[Symbol.dispose]();
    // Its last requests get no answer, because the cluster ends.
    this.driver[Symbol.asyncDispose]().catch(() => {});
    this.#controller?.child.kill("SIGKILL");
    this.cluster.down();
  }
}

/**
 * The cgroups of the hub, which is the network namespace of the control plane. A program that
 * starts in these cgroups ends when the cluster ends.
 */
function hubGroups(cluster: Cluster): string[] {
  const { device } = networkOf(slotOf(cluster));
  return parentGroups().map((group) => join(group, device, "hub"));
}

function startInHub(cluster: Cluster, name: string, program: readonly string[]): void {
  const argv = inNamespace(networkOf(slotOf(cluster)), "hub", program);
  startDaemon({
    name,
    argv,
    groups: hubGroups(cluster),
    log: join(cluster.directory, `${name}.log`),
  });
}

/** Starts controller manager and scheduler again with higher limits on their own requests. */
async function quicken(cluster: Cluster): Promise<void> {
  const more = {
    "kube-controller-manager": controllerManagerFlags,
    "kube-scheduler": schedulerFlags,
  };
  for (const [name, flags] of Object.entries(more)) {
    const pids = new Set(hubGroups(cluster).flatMap(processes));
    const commandLine = (pid: number) =>
      readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
    const pid = [...pids].find((candidate) => commandLine(candidate)[0]?.endsWith(`/${name}`));
    if (pid === undefined) throw new Error(`${name} does not run`);
    const argv = commandLine(pid);
    process.kill(pid, "SIGKILL");
    startInHub(cluster, name, [...argv, ...flags]);
  }
}

/**
 * A real cluster on this machine, for tests, demo and benchmark: real etcd, API server,
 * controllers, scheduler, two registries, and nodes. Each node is a booted systemd with a real
 * kubelet, containerd and runc.
 *
 *     await using cluster = await startCluster();         // two nodes, Ready in under a minute
 *     await cluster.kubectl("get", "nodes");                 // stdout; throws with stderr
 *     const image = await cluster.pushApp("team/app:1");  // pods need a password to pull it
 *     cluster.registry.document("additional");            // a pull secret's document for it
 *     const [node] = cluster.nodes;
 *     await node.unit(["InvocationID", "MainPID"]);          // of kubelet.service
 *     node.readFile("config.json");                          // below /var/lib/kubelet
 *     await node.breakKubelet();                             // its next start fails
 *
 * A cluster needs root. Nothing stays behind after `down()`, Ctrl-C or a failed test. The next
 * start removes the leftovers of a run that was killed with SIGKILL. Only a cluster started with
 * `keep` outlives its process. Remove it with removeCluster(name).
 */
import { randomBytes } from "node:crypto";
import { cpSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { patiently, until } from "./await.ts";
import { authorityAt } from "./host/certificates.ts";
import { delegate, makeGroups } from "./host/cgroup.ts";
import {
  controlPlaneAt,
  killPart,
  startControlPlane,
  startEtcd,
  startPart,
  type ControlPlane,
  type ControlPlanePlace,
} from "./controlplane.ts";
import { inNamespace, joinHubs, makeHub, networkOf } from "./host/network.ts";
import { Node, type NodePlace } from "./node.ts";
import { sandboxImage } from "./host/nodefiles.ts";
import { askedBy, reader } from "./reading.ts";
import { newPasswords, publicRegistry, Registry, startRegistries } from "./registry.ts";
import { directEnvironment, run } from "./run.ts";
import { setUp, type Kit } from "./setup.ts";
import { allStates, claim, directoryOf, update, type ClusterState } from "./host/state.ts";
import { remove, sweep, watchOver } from "./host/sweep.ts";

export type ClusterOptions = Readonly<{
  /** 2 by default, none with `apiOnly`. */
  nodes?: number;
  /** The name for attachCluster and removeCluster. Random by default. */
  name?: string;
  /** The cluster outlives this process. */
  keep?: boolean;
  /**
   * A node becomes Unknown if its kubelet sends no report for this many seconds. 50 by default, as
   * in a stock cluster. A kubelet reports every 10 s.
   */
  missedAfter?: number;
  /**
   * Starts only an etcd and an API server, without controllers, scheduler and registries. While
   * idle, this needs half the memory and a fifth of the processor time of a whole cluster.
   */
  apiOnly?: boolean;
  /** Configurations of the API server that replace those of a stock cluster. */
  apiServer?: Readonly<{ audit?: object; encryption?: object }>;
}>;

export type NodeOptions = Readonly<{ before?: (node: Node) => void; ready?: boolean }>;

export class Cluster {
  readonly name: string;
  /** Path of the administrator's kubeconfig (system:masters). */
  readonly kubeconfig: string;
  /** URL of the API server. */
  readonly server: string;
  /** Path of the API server's certificate authority (PEM). */
  readonly ca: string;
  /** Path of the audit log: one JSON object per request, level Metadata. */
  readonly auditLog: string;
  readonly registry: Registry;
  readonly nodes: Node[];
  readonly kit: Kit;
  /** A folder for files of this cluster; removed with it. */
  readonly directory: string;
  readonly #place: NodePlace;
  readonly #plane: ControlPlane;
  readonly #state: ClusterState;
  readonly #read: ReturnType<typeof reader>;

  constructor(kit: Kit, state: ClusterState, plane: ControlPlane, registry: Registry) {
    this.kit = kit;
    this.#state = state;
    this.#plane = plane;
    this.directory = directoryOf(state);
    this.#place = {
      directory: this.directory,
      network: networkOf(state.slot),
      groups: state.groups,
    };
    this.name = state.name;
    this.kubeconfig = plane.adminKubeconfig;
    this.server = plane.server;
    this.ca = join(plane.authority.directory, "ca.crt");
    this.auditLog = plane.auditLog;
    this.#read = reader(this.kubeconfig);
    this.registry = registry;
    this.nodes = state.nodes.map((index) => new Node(kit, this.#place, index));
  }

  /** Runs kubectl as the administrator; returns its stdout, fails with its stderr. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return await this.#kubectl(args);
  }

  async apply(...objects: readonly object[]): Promise<void> {
    await this.#kubectl(
      ["apply", "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
    );
  }

  /**
   * Returns what kubectl get returns; undefined if the object does not exist. Starts no program, so
   * you can use it in waits.
   */
  async get<T = Record<string, unknown>>(...args: readonly string[]): Promise<T | undefined> {
    const asked = askedBy(args);
    if (asked !== undefined) return await this.#read<T>(asked);
    const text = await this.kubectl("get", "--ignore-not-found", "-o", "json", ...args);
    return text === "" ? undefined : (JSON.parse(text) as T);
  }

  /**
   * Pushes the test application as `repository:tag` to the private registry; returns the reference
   * for a pod.
   */
  async pushApp(reference: string): Promise<string> {
    return await this.registry.push(this.kit.images.app, reference);
  }

  /**
   * Adds a node and returns it when it is Ready. With `ready: false`, returns the node as soon as
   * it has booted. `before` can change the node's files before the first boot. You can add several
   * nodes at the same time.
   */
  async addNode({ before, ready = true }: NodeOptions = {}): Promise<Node> {
    const { nodes } = update(this.#state.slot, ({ nodes }) => ({
      nodes: [...nodes, Math.max(0, ...nodes) + 1],
    }));
    const index = Math.max(...nodes);
    const node = new Node(this.kit, this.#place, index);
    this.nodes.push(node);
    await node.prepare(this.#plane.authority, this.server);
    before?.(node);
    await node.start();
    if (ready) await this.untilReady(node);
    return node;
  }

  async untilReady(node: Node): Promise<void> {
    const status = (): Promise<string | undefined> => this.readiness(node);
    await until(`${node.name} is Ready`, async () => (await status()) === "True", {
      seen: status,
    });
  }

  /** The status of a node's condition Ready; undefined if the node has no such condition. */
  async readiness({ name }: Node): Promise<string | undefined> {
    type Status = { status?: { conditions?: { type: string; status: string }[] } };
    const { status } = (await this.get<Status>("node", name)) ?? {};
    return status?.conditions?.find(({ type }) => type === "Ready")?.status;
  }

  /**
   * Waits until the API server serves the CRD of this name. Does not use kubectl wait, because
   * kubectl wait fails at once if the API server has not written the conditions yet. On a busy
   * machine the API server takes a second for that.
   */
  async untilServed(definition: string): Promise<void> {
    type Status = { status?: { conditions?: { type: string; status: string }[] | null } };
    await until(`${definition} is served`, async () => {
      const { status } = (await this.get<Status>("crd", definition)) ?? {};
      return status?.conditions?.find(({ type }) => type === "Established")?.status === "True";
    });
  }

  /** From now on pods of each cluster reach the other cluster's API server. */
  async connect(other: Cluster): Promise<void> {
    await joinHubs(this.#place.network, other.#place.network);
  }

  /** Kills the API server; the nodes continue without it. */
  async stopApiServer(): Promise<void> {
    await killPart(this.#hub, "kube-apiserver");
  }

  /** Starts the API server again; returns once it is ready. */
  async startApiServer(): Promise<void> {
    await startPart(this.#hub, this.#plane, "kube-apiserver");
  }

  /** Kills etcd. The API server continues, but answers only requests for which it needs no etcd. */
  async stopEtcd(): Promise<void> {
    await killPart(this.#hub, "etcd");
  }

  /** Starts etcd again on its data; returns once the API server answers from etcd. */
  async startEtcd(): Promise<void> {
    await startPart(this.#hub, this.#plane, "etcd");
  }

  /**
   * Saves everything that the API server stores. The returned function restores this state later.
   */
  async backUp(): Promise<() => Promise<void>> {
    const [data, copy] = [join(this.directory, "etcd"), join(this.directory, "etcd-backup")];
    const copied = async (from: string, to: string): Promise<void> => {
      // Restarts the API server too. Without a restart it would answer from its cache.
      await killPart(this.#hub, "kube-apiserver");
      await killPart(this.#hub, "etcd");
      rmSync(to, { recursive: true, force: true });
      cpSync(from, to, { recursive: true });
      startEtcd(this.#hub);
      await startPart(this.#hub, this.#plane, "kube-apiserver");
    };
    await copied(data, copy);
    return async () => await copied(copy, data);
  }

  /** etcd's value for a key, as the API server wrote it. */
  async stored(key: string): Promise<string> {
    const asked = { method: "POST", body: JSON.stringify({ key: btoa(key) }) };
    const script = `fetch("http://127.0.0.1:2379/v3/kv/range", ${JSON.stringify(asked)})
      .then((answer) => answer.text()).then((text) => process.stdout.write(text))`;
    const argv = inNamespace(this.#place.network, "hub", [process.execPath, "-e", script]);
    const answer = JSON.parse(await run(argv)) as { kvs?: { value: string }[] };
    const [entry] = answer.kvs ?? [];
    if (entry === undefined) throw new Error(`etcd has nothing under ${key}`);
    return Buffer.from(entry.value, "base64").toString("latin1");
  }

  /** From now on the cluster outlives this process, until removeCluster(name). */
  keep(): void {
    update(this.#state.slot, () => ({ keep: true }));
  }

  down(): void {
    remove(this.#state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.down();
  }

  get #hub(): ControlPlanePlace {
    const { network, groups, directory } = this.#place;
    return {
      parts: this.kit.parts,
      directory,
      network,
      groups: groups.map((group) => join(group, "hub")),
    };
  }

  async #kubectl(args: readonly string[], input = ""): Promise<string> {
    const env = directEnvironment({ KUBECONFIG: this.kubeconfig });
    return await run([this.kit.parts.path("kubectl"), ...args.map(patiently)], { env, input });
  }
}

/**
 * Sweeps leftovers of killed runs, then starts a cluster and returns it when all nodes are Ready.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { apiOnly = false, nodes = apiOnly ? 0 : 2 } = options;
  const kit = await setUp();
  sweep();
  const name = options.name ?? `test-${randomBytes(3).toString("hex")}`;
  if (allStates().some((state) => state.name === name))
    throw new Error(`a cluster named ${name} is already there`);
  const state = await claim({ name, users: newPasswords() });
  watchOver(state);
  try {
    const network = networkOf(state.slot);
    const directory = directoryOf(state);
    delegate(makeGroups(state.groups.map(dirname), network.device));
    const groups = makeGroups(state.groups, "hub");
    await makeHub(network);
    const registry = new Registry(kit.parts, directory, network, state.users);
    const [{ plane, check }] = await Promise.all([
      startControlPlane({ parts: kit.parts, directory, network, groups }, options),
      apiOnly
        ? undefined
        : startRegistries(kit.parts, directory, network, groups, registry).then(() =>
            registry.push(kit.images.app, sandboxImage, publicRegistry),
          ),
    ]);
    const cluster = new Cluster(kit, state, plane, registry);
    await Promise.all(Array.from({ length: nodes }, () => cluster.addNode()));
    // The controllers create this ServiceAccount last. No pod can be created without it.
    const account = ["serviceaccount", "--namespace=default", "default"];
    const isMade = async () => {
      check();
      return (await cluster.get(...account)) !== undefined;
    };
    // On a busy machine the API server alone can take up to 46 s.
    if (!apiOnly) await until("the controllers run", isMade, { timeout: 90_000 });
    if (options.keep === true) cluster.keep();
    return cluster;
  } catch (error) {
    remove(state);
    throw error;
  }
}

/** Returns a cluster that another process started. */
export async function attachCluster(name: string): Promise<Cluster> {
  const state = allStates().find((state) => state.name === name);
  if (state === undefined) throw new Error(`there is no cluster named ${name}`);
  const kit = await setUp();
  const network = networkOf(state.slot);
  const directory = directoryOf(state);
  const plane = controlPlaneAt(directory, network, authorityAt(join(directory, "pki")));
  return new Cluster(kit, state, plane, new Registry(kit.parts, directory, network, state.users));
}

/**
 * Removes the cluster of this name, even if it was started with `keep`. Returns false if there is
 * no such cluster.
 */
export function removeCluster(name: string): boolean {
  const state = allStates().find((state) => state.name === name);
  if (state !== undefined) remove(state);
  return state !== undefined;
}

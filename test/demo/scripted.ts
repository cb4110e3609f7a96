/**
 * A cluster without real nodes, from the parts of `npm test`: the controller and one agent for each
 * node are the built programs, as processes. The API server, systemd and the kubelets' healthz are
 * scripted and run in this process.
 */
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { V1Pod } from "@kubernetes/client-node";
import { agentLabels } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { startController, type Controller } from "../controller/plane/process.ts";
import { NodeDirectory } from "../harness/agent/node-directory.ts";
import { launchAgent } from "../harness/agent/process.ts";
import { comesBack, crashes, ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";
import { directly } from "../harness/api/direct.ts";
import { install } from "../harness/api/installed.ts";
import type { FakeApi } from "../harness/api/api.ts";
import { FakeServer } from "../harness/api/server.ts";
import type { Change } from "../harness/api/store.ts";
import { NodesDriver } from "../harness/nodes/drive.ts";
import { NodesModel } from "../harness/nodes/nodes.ts";

const name = "demo";

/** A kubelet does not start while its config.json has an entry for this registry. */
export const spoiled = "spoiled.example";

export type ScriptedNode = Readonly<{
  name: string;
  directory: NodeDirectory;
  systemd: ScriptedSystemd;
}>;

/** The agent reads some files of Linux's /proc, which other systems do not have. */
const proc = join(import.meta.dirname, "proc.cjs");
export const procFlags = [`--require=${proc}`, `--allow-fs-read=${proc}`];

export class ScriptedCluster implements AsyncDisposable {
  /** The administrator's calls. */
  readonly admin: Cluster;
  readonly kubeconfig: string;
  readonly nodes: ScriptedNode[] = [];
  /** What all agents have logged. */
  agentOutput = "";
  readonly #api: FakeApi;
  readonly #server: FakeServer;
  readonly #driver: NodesDriver;
  readonly #directory: string;
  readonly #hasProc: boolean;
  /** Uid of the pod → its agent. */
  readonly #agents = new Map<string, Promise<ChildProcess>>();
  #controller: Controller | undefined;
  readonly #address: Readonly<{ host: string; port: number; credentials: string }>;

  private constructor(server: FakeServer, hasProc: boolean) {
    this.#server = server;
    this.#hasProc = hasProc;
    this.#api = server.api(name);
    install(this.#api);
    // A socket's path has at most 104 bytes on macOS, and its usual temporary folder is long.
    const folder = process.platform === "linux" ? tmpdir() : "/tmp";
    this.#directory = mkdtempSync(join(realpathSync(folder), "gps-"));
    this.kubeconfig = join(this.#directory, "kubeconfig");
    const kubeconfig = server.kubeconfig(name);
    writeFileSync(this.kubeconfig, kubeconfig, { mode: 0o600 });
    this.#address = this.#credentialsOf(kubeconfig);
    this.admin = directly(this.#api, "administrator");
    // The model plays no agent, because the agents are processes.
    const model = new NodesModel(() => {});
    const options = { model, daemonSets: true, leaseSeconds: 4 };
    this.#driver = new NodesDriver(directly(this.#api, "nodes"), options).start();
    this.#api.store.watch(Number(this.#api.store.version), (change) => this.#seePod(change));
  }

  /** `hasProc`: whether agents read this machine's /proc. Otherwise they get a scripted one. */
  static async start(hasProc = process.platform === "linux"): Promise<ScriptedCluster> {
    return new ScriptedCluster(await FakeServer.start(), hasProc);
  }

  /** Adds a Ready node: a directory, and a systemd of its own. */
  async addNode(node: string): Promise<ScriptedNode> {
    const root = join(this.#directory, node);
    mkdirSync(root);
    const directory = new NodeDirectory(root);
    const systemd = await ScriptedSystemd.start(directory.systemd);
    // Between two starts of a unit that failed, the agent waits for this time.
    systemd.startLimitMicros = 200_000n;
    systemd.outcome = () => (directory.file?.includes(spoiled) === true ? crashes : comesBack);
    const added = { name: node, directory, systemd };
    this.nodes.push(added);
    await this.#driver.add(node);
    return added;
  }

  startController(): void {
    this.#controller = startController(this.kubeconfig);
  }

  /** The process ids of the agents that run. */
  async agents(): Promise<number[]> {
    const children = await Promise.all(this.#agents.values());
    return children.map(({ pid = 0 }) => pid);
  }

  /** All that the controller and the agents have logged. */
  get output(): string {
    return `${this.#controller?.output() ?? ""}${this.agentOutput}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controller?.[Symbol.asyncDispose]();
    await this.#driver[Symbol.asyncDispose]();
    for (const uid of this.#agents.keys()) await this.#end(uid, "SIGKILL");
    for (const { systemd } of this.nodes) await systemd[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Where agents find the API server, and its certificate and a token. */
  #credentialsOf(kubeconfig: string) {
    const { clusters } = JSON.parse(kubeconfig) as {
      clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
    };
    const { server, "certificate-authority-data": authority } = clusters[0].cluster;
    const credentials = join(this.#directory, "credentials");
    mkdirSync(credentials);
    writeFileSync(join(credentials, "ca.crt"), Buffer.from(authority, "base64"));
    writeFileSync(join(credentials, "token"), "scripted");
    const { hostname: host, port } = new URL(server);
    return { host, port: Number(port), credentials };
  }

  /** Does for the agents' pods what a kubelet does: starts and ends their processes. */
  #seePod({ type, object }: Change): void {
    const { kind, metadata, spec, status } = object as unknown as V1Pod;
    if (kind !== "Pod" || metadata?.labels?.["name"] !== agentLabels.name) return;
    const { uid = "", deletionTimestamp } = metadata;
    const node = this.nodes.find((candidate) => candidate.name === spec?.nodeName);
    if (type === "DELETED" || deletionTimestamp !== undefined) void this.#end(uid, "SIGTERM");
    else if (node !== undefined && status?.phase === "Running" && !this.#agents.has(uid))
      this.#agents.set(uid, this.#launch(node, spec?.containers[0]));
  }

  async #launch(
    node: ScriptedNode,
    { args = [] }: Readonly<{ args?: string[] }> = {},
  ): Promise<ChildProcess> {
    const child = await launchAgent(
      node.directory,
      { ...this.#address, name: node.name },
      {
        healthzPort: node.systemd.healthzPort,
        flags: inOne(args).filter((flag) => !flag.startsWith("--healthz-port=")),
        nodeFlags: this.#hasProc ? [] : procFlags,
      },
    );
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => (this.agentOutput += text));
    return child;
  }

  async #end(uid: string, signal: NodeJS.Signals): Promise<void> {
    const agent = this.#agents.get(uid);
    this.#agents.delete(uid);
    (await agent)?.kill(signal);
  }
}

/** `--name`, `value` → `--name=value`. */
function inOne(args: readonly string[]): string[] {
  return args.flatMap((flag, index) => (index % 2 === 0 ? [`${flag}=${args[index + 1]}`] : []));
}

/**
 * The bundled agent inside a real node of the test cluster, with the DaemonSet's flags and
 * environment, without capabilities, and with the node's own systemd and kubelet.
 */
import { cpSync, existsSync, linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { until } from "../cluster/await.ts";
import type { Node as ClusterNode } from "../cluster/node.ts";
import type { Result } from "#contract/order.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { mountsIn, NodeDirectory, podUid, withProbation } from "../harness/agent/agent.ts";
import { agentBundle, environment, nodeFlags } from "../harness/agent/deployed.ts";

/** The agent's folder below the node's root. Its files are the same inside and outside. */
const place = "root/agent";
const ours = ["/var/lib/kubelet/global-pull-secret", "/var/lib/kubelet/pull-secret-provider"];

export class Inside {
  readonly machine: ClusterNode;
  /** The node's files as this machine sees them. */
  readonly node: NodeDirectory;

  /** The address of this machine that the node reaches. */
  readonly #host: string;
  /** The length of the agents' log at the start of the present agent. */
  #started = 0;
  /** The length of the agents' log up to the line that was seen last. */
  #seen = 0;

  private constructor(machine: ClusterNode, node: NodeDirectory, host: string) {
    this.machine = machine;
    this.node = node;
    this.#host = host;
  }

  static async on(machine: ClusterNode, { registry }: Pick<Cluster, "registry">): Promise<Inside> {
    const root = join(machine.rootfs, place);
    mkdirSync(root, { recursive: true });
    cpSync(await agentBundle(), join(root, "agent.cjs"));
    // Links the program of Node.js, which has 120 MB. If the two paths are on different disks,
    // copies the program.
    const node = resolve(process.execPath);
    try {
      if (!existsSync(join(root, "node"))) linkSync(node, join(root, "node"));
    } catch {
      cpSync(node, join(root, "node"));
    }
    const directory = new NodeDirectory(root, join(machine.rootfs, "var/lib/kubelet"));
    writeFileSync(directory.mountinfo, mountsIn("/var/lib/kubelet"));
    return new Inside(machine, directory, registry.machine);
  }

  /** Ends the scripted API server. Without this, the test's process would never end. */
  [Symbol.dispose](): void {
    this.node[Symbol.dispose]();
  }

  /** Resets the node to a state without traces of an agent, with a running kubelet. */
  async fresh(): Promise<void> {
    await this.kill("SIGKILL");
    this.machine.writeFile("config.json", undefined);
    await this.machine.exec(["rm", "-rf", ...ours]);
    await this.machine.healKubelet();
    await this.machine.exec(["systemctl", "reset-failed", "kubelet"]).catch(() => {});
    await this.machine.exec(["systemctl", "start", "kubelet"]);
    await until("the kubelet runs", async () => (await this.kubelet()).ActiveState === "active");
  }

  /** The results of the jobs that the present agent has requested, in order. */
  async jobs(): Promise<string[]> {
    const log = (await this.#log()).slice(this.#started);
    return Array.from(log.matchAll(/"msg":"job (.+)"/g), ([, result = ""]) => result);
  }

  /** Starts the agent as a transient unit. systemd does not restart the agent. */
  async start(revision: number, ...flags: readonly string[]): Promise<void> {
    this.node.isFor(flags);
    this.node.ask(revision);
    const api = await this.node.connected(this.#host);
    cpSync(api.credentials, join(this.node.root, "credentials"), { recursive: true });
    this.#started = (await this.#log()).length;
    this.#seen = this.#started;
    const elsewhere = flags.find((flag) => flag.startsWith("--systemd-directory="));
    const mounts = {
      kubelet: "/var/lib/kubelet",
      secret: `/${place}/secret`,
      systemd: elsewhere?.split("=")[1] ?? "/run/systemd",
      mountinfo: `/${place}/mountinfo`,
    };
    const credentials = `/${place}/credentials`;
    const address = { KUBERNETES_SERVICE_HOST: api.host, KUBERNETES_SERVICE_PORT: `${api.port}` };
    const own = { NODE_NAME: "node1", POD_UID: podUid };
    const variables = Object.entries({ ...environment, ...address, ...own });
    await this.machine.exec([
      "systemd-run",
      "--quiet",
      "--unit=agent",
      "--property=CapabilityBoundingSet=",
      "--property=NoNewPrivileges=yes",
      ...variables.map(([name, value]) => `--setenv=${name}=${value}`),
      `/${place}/node`,
      ...nodeFlags(mounts, credentials),
      `/${place}/agent.cjs`,
      `--secret-directory=${mounts.secret}`,
      `--kubelet-directory=${mounts.kubelet}`,
      ...(elsewhere === undefined ? [`--systemd-directory=${mounts.systemd}`] : []),
      `--credentials-directory=${credentials}`,
      `--mountinfo=${mounts.mountinfo}`,
      ...withProbation(3, flags),
    ]);
  }

  async kill(signal: string): Promise<void> {
    await this.machine.exec(["systemctl", "kill", `--signal=${signal}`, "agent"]).catch(() => {});
    await until("the agent has ended", async () => !(await this.runs()), { every: 50 });
    await this.machine.exec(["systemctl", "reset-failed", "agent"]).catch(() => {});
  }

  async runs(): Promise<boolean> {
    const { ActiveState } = await this.machine.unit(["ActiveState"], "agent.service");
    return ActiveState === "active" || ActiveState === "deactivating";
  }

  /** Waits for a line of the running agent's log after the line that was seen last. */
  async shows(text: string, timeout = 30_000): Promise<void> {
    let unseen = "";
    const isLogged = async () => {
      unseen = (await this.#log()).slice(this.#seen);
      const at = unseen.indexOf(text);
      if (at >= 0) this.#seen += at + text.length;
      return at >= 0;
    };
    await until(`the log has ${text}`, isLogged, { timeout, every: 200, seen: () => unseen });
  }

  /** Waits until the agent has reported that the ordered content is proved. */
  proves(timeout?: number): Promise<void> {
    return this.#reports("Proved", "GPS200", timeout);
  }

  /** Waits until the agent has reported that everything of ours is removed. */
  removes(timeout?: number): Promise<void> {
    return this.#reports("Removed", "GPS224", timeout);
  }

  /** Waits until the agent has reported that the order failed. */
  fails(timeout = 120_000): Promise<void> {
    return this.#reports("Failed", "GPS218", timeout);
  }

  async #reports(result: Result, code: string, timeout?: number): Promise<void> {
    await this.shows(code, timeout);
    const isReported = () => Promise.resolve(this.node.api?.reports.at(-1)?.result === result);
    await until(`the report is ${result}`, isReported, { timeout: timeout ?? 30_000 });
  }

  async #log(): Promise<string> {
    await this.machine.exec(["journalctl", "--sync"]);
    return await this.machine.journal("agent");
  }

  async kubelet(): Promise<
    Record<"InvocationID" | "ActiveState" | "MainPID" | "NRestarts", string>
  > {
    return await this.machine.unit(["InvocationID", "ActiveState", "MainPID", "NRestarts"]);
  }
}

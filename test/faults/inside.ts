/**
 * The bundled agent inside a real node of the test cluster, with the DaemonSet's flags and
 * environment, without capabilities, and with the node's own systemd and kubelet.
 */
import { cpSync, existsSync, linkSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { until } from "../cluster/await.ts";
import type { Node as ClusterNode } from "../cluster/node.ts";
import {
  type ProbeAnswer,
  isAnswer,
  NodeDirectory,
  withProbation,
} from "../harness/agent/agent.ts";
import { agentBundle, environment, nodeFlags } from "../harness/agent/deployed.ts";

/** The agent's folder below the node's root. Its files are the same inside and outside. */
const place = "root/agent";
const ours = ["/var/lib/kubelet/global-pull-secret", "/var/lib/kubelet/pull-secret-provider"];

export class Inside {
  readonly machine: ClusterNode;
  /** The node's files as this machine sees them. */
  readonly node: NodeDirectory;

  private constructor(machine: ClusterNode, node: NodeDirectory) {
    this.machine = machine;
    this.node = node;
  }

  static async on(machine: ClusterNode): Promise<Inside> {
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
    return new Inside(machine, new NodeDirectory(root, join(machine.rootfs, "var/lib/kubelet")));
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

  /** The results of the jobs that the agents of this revision have requested, in order. */
  async jobs(revision: number): Promise<string[]> {
    await this.machine.exec(["journalctl", "--sync"]);
    const lines = (await this.machine.journal("agent")).split("\n");
    return lines
      .filter((line) => line.includes(`"revision":${revision},`))
      .flatMap((line) => /"msg":"job (.+)"/.exec(line)?.[1] ?? []);
  }

  /** Starts the agent as a transient unit. systemd does not restart the agent. */
  async start(revision: number, ...flags: readonly string[]): Promise<void> {
    this.node.isFor(flags);
    this.node.ask(revision);
    const elsewhere = flags.find((flag) => flag.startsWith("--systemd-directory="));
    const mounts = {
      kubelet: "/var/lib/kubelet",
      secret: `/${place}/secret`,
      systemd: elsewhere?.split("=")[1] ?? "/run/systemd",
      pod: `/${place}/pod`,
      terminationLog: `/${place}/termination-log`,
      flags,
    };
    await this.machine.exec([
      "systemd-run",
      "--quiet",
      "--unit=agent",
      "--property=CapabilityBoundingSet=",
      "--property=NoNewPrivileges=yes",
      "--setenv=NODE_NAME=node1",
      ...Object.entries(environment).map(([name, value]) => `--setenv=${name}=${value}`),
      `/${place}/node`,
      ...nodeFlags(mounts),
      `/${place}/agent.cjs`,
      `--secret-directory=${mounts.secret}`,
      `--kubelet-directory=${mounts.kubelet}`,
      ...(elsewhere === undefined ? [`--systemd-directory=${mounts.systemd}`] : []),
      `--pod-directory=${mounts.pod}`,
      `--termination-log=${mounts.terminationLog}`,
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

  /** Waits until the agent has ended by itself. Returns its exit code. */
  async ended(timeout = 120_000): Promise<string> {
    await until("the agent has ended", async () => !(await this.runs()), { every: 200, timeout });
    const { ExecMainStatus } = await this.machine.unit(["ExecMainStatus"], "agent.service");
    await this.machine.exec(["systemctl", "reset-failed", "agent"]).catch(() => {});
    return ExecMainStatus;
  }

  /** Waits until readiness answers with this status and text. */
  async shows(status: ProbeAnswer, text: string, timeout = 30_000): Promise<void> {
    let last = "";
    await until(
      `readiness answers ${status} ${text}`,
      async () => {
        last = await this.#asked();
        const [, code = "0", body = ""] = /^HTTP\/1\.1 (\d+) [^]*?\r\n\r\n([^]*)$/.exec(last) ?? [];
        return isAnswer(status, Number(code), body) && body.includes(text);
      },
      { timeout, seen: () => last },
    );
  }

  /** The whole answer of the agent's readiness endpoint. Empty while the agent does not listen. */
  async #asked(): Promise<string> {
    // Uses busybox, because starting Node.js for each probe would take 60 ms of processor time, ten
    // times a second.
    const ask = ["busybox", "nc", "127.0.0.1", "20248"];
    return await this.machine
      .exec(ask, "GET /readyz HTTP/1.1\r\nHost: agent\r\n\r\n")
      .catch(() => "");
  }

  async kubelet(): Promise<
    Record<"InvocationID" | "ActiveState" | "MainPID" | "NRestarts", string>
  > {
    return await this.machine.unit(["InvocationID", "ActiveState", "MainPID", "NRestarts"]);
  }
}

/** An agent that registers its provider with a real kubelet, by kubeadm's own file. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubeadmFlagsFile } from "#contract/names.ts";
import { toldOf } from "#pullsecret/provider/flags.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import type { Node as Machine } from "../cluster/node.ts";
import { podOn, untilState } from "../e2e/pods.ts";
import { Inside } from "./inside.ts";

const flags = ["--delivery=CredentialProvider", "--registration=Agent"];
/** What kubeadm's file holds before an agent comes. */
export const given = 'KUBELET_KUBEADM_ARGS="--v=1"\n';

export class Registrant {
  readonly cluster: Cluster;
  readonly machine: Machine;
  readonly inside: Inside;
  /** The last one that was served. */
  revision = 0;

  private constructor(cluster: Cluster, machine: Machine, inside: Inside) {
    this.cluster = cluster;
    this.machine = machine;
    this.inside = inside;
  }

  /** A cluster of its own, with one node. */
  static async start(): Promise<Registrant> {
    const cluster = await startCluster({ nodes: 1 });
    const [machine] = cluster.nodes;
    assert.ok(machine);
    return new Registrant(cluster, machine, await Inside.on(machine));
  }

  [Symbol.dispose](): void {
    this.cluster.down();
  }

  /** A node that has seen no agent, whose kubelet has kubeadm's arguments alone. */
  async fresh(): Promise<void> {
    // An agent that still runs would put its arguments back.
    await this.inside.kill("SIGKILL");
    this.machine.writeFile(kubeadmFlagsFile, given, 0o644);
    this.setExtra("");
    await this.machine.exec(["systemctl", "restart", "kubelet"]);
    await this.inside.fresh();
  }

  /** Writes the file of arguments that come after kubeadm's. */
  setExtra(text: string): void {
    writeFileSync(join(this.machine.rootfs, "etc/default/kubelet"), text);
  }

  get env(): string | undefined {
    return this.machine.readFile(kubeadmFlagsFile)?.toString();
  }

  /** Whose flags the running kubelet has. */
  async told(): Promise<string> {
    const { MainPID } = await this.inside.kubelet();
    const command = await this.machine.exec(["cat", `/proc/${MainPID}/cmdline`]);
    return toldOf(command.replaceAll("\0", " "));
  }

  /** The next revision, by a new agent. */
  async serve(
    content: Parameters<Inside["node"]["mount"]>[1],
    ...more: readonly string[]
  ): Promise<void> {
    await this.inside.kill("SIGTERM");
    this.revision += 1;
    this.inside.node.mount(this.revision, content);
    await this.inside.start(this.revision, ...flags, ...more);
  }

  /** The next revision, with a new password that is the only one which the registry takes. */
  async rotate(...more: readonly string[]): Promise<void> {
    const { registry } = this.cluster;
    const password = randomBytes(18).toString("base64url");
    await registry.setUsers({ ...registry.users, user: password });
    await this.serve({ additional: { [registry.host]: password } }, ...more);
  }

  /** Resolves when a pod runs whose image the node has not got. */
  async pull(name: string): Promise<void> {
    const image = await this.cluster.pushApp(`team/app:${name}`);
    await this.cluster.apply(podOn(this.machine, name, image));
    await untilState(this.cluster, name, "Running");
  }
}

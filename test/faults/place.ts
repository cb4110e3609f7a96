/** A node with revision 1 mounted, a private bus and a scripted systemd. */
import { rmSync } from "node:fs";
import { AgentProcess, encode, NodeDirectory } from "../harness/agent/agent.ts";
import { type TestBus, startBus } from "../harness/agent/bus.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

/** config.json when revision 1 is in force and nobody else has entries. */
export const ours = JSON.stringify({ auths: { "a.io": { auth: encode("ours") } } });
export const content = { additional: { "a.io": "ours" } };

export class AgentPlace implements AsyncDisposable {
  readonly node: NodeDirectory;
  bus: TestBus;
  systemd: ScriptedSystemd;
  private constructor(node: NodeDirectory, bus: TestBus, systemd: ScriptedSystemd) {
    this.node = node;
    this.bus = bus;
    this.systemd = systemd;
  }
  static async make(): Promise<AgentPlace> {
    const node = new NodeDirectory();
    node.mount(1, content);
    const bus = await startBus(node.dbus);
    return new AgentPlace(node, bus, await ScriptedSystemd.start(bus.address));
  }
  agent(flags: readonly string[] = [], revision = 1): Promise<AgentProcess> {
    return AgentProcess.start(this.node, {
      revision,
      healthzPort: this.systemd.healthzPort,
      flags,
    });
  }
  /**
   * The node goes down and comes up: /run is empty, everybody on the bus is new, the kubelet has a
   * new InvocationID.
   */
  async reboot(): Promise<void> {
    await this.systemd[Symbol.asyncDispose]();
    await this.bus[Symbol.asyncDispose]();
    rmSync(this.node.dbus, { recursive: true });
    this.bus = await startBus(this.node.dbus);
    this.systemd = await ScriptedSystemd.start(this.bus.address);
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.systemd[Symbol.asyncDispose]();
    await this.bus[Symbol.asyncDispose]();
    this.node[Symbol.dispose]();
  }
}

/** A node with revision 1 mounted, a private bus and a scripted systemd. */
import { join } from "node:path";
import { AgentProcess, encode, NodeDirectory } from "../harness/agent/agent.ts";
import { type TestBus, startBus } from "../harness/agent/bus.ts";
import { type Cut, Relay } from "./relay.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

/** config.json when revision 1 is in force, without other entries. */
export const ours = JSON.stringify({ auths: { "a.io": { auth: encode("ours") } } });
export const content = { additional: { "a.io": "ours" } };

export class AgentPlace implements AsyncDisposable {
  readonly node: NodeDirectory;
  readonly bus: TestBus;
  readonly systemd: ScriptedSystemd;
  /** Between the node and its bus; only with `cut`. */
  readonly relay: Relay | undefined;
  private constructor(
    node: NodeDirectory,
    bus: TestBus,
    systemd: ScriptedSystemd,
    relay: Relay | undefined,
  ) {
    this.node = node;
    this.bus = bus;
    this.systemd = systemd;
    this.relay = relay;
  }
  /** `cut`: how a relay before the bus interrupts a conversation. */
  static async make(cut?: Cut): Promise<AgentPlace> {
    const node = new NodeDirectory();
    node.mount(1, content);
    const bus = await startBus(cut === undefined ? node.dbus : join(node.root, "bus"));
    const systemd = await ScriptedSystemd.start(bus.address);
    const relay = cut && (await Relay.between(node.dbus, bus.directory, cut));
    return new AgentPlace(node, bus, systemd, relay);
  }
  agent(flags: readonly string[] = [], revision = 1): Promise<AgentProcess> {
    return AgentProcess.start(this.node, {
      revision,
      healthzPort: this.systemd.healthzPort,
      flags,
    });
  }
  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of [this.relay, this.systemd, this.bus]) await part?.[Symbol.asyncDispose]();
    this.node[Symbol.dispose]();
  }
}

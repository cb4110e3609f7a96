/** A node with revision 1 mounted and a scripted systemd. */
import { join } from "node:path";
import { AgentProcess, encode, NodeDirectory } from "../harness/agent/agent.ts";
import { type Cut, Relay } from "./relay.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

/** config.json with the entry of revision 1 and no other entry. */
export const ours = JSON.stringify({ auths: { "a.io": { auth: encode("ours") } } });
export const content = { additional: { "a.io": "ours" } };

export class AgentPlace implements AsyncDisposable {
  readonly node: NodeDirectory;
  readonly systemd: ScriptedSystemd;
  /** The relay between the agent and systemd; only with `cut`. */
  readonly relay: Relay | undefined;
  private constructor(node: NodeDirectory, systemd: ScriptedSystemd, relay: Relay | undefined) {
    this.node = node;
    this.systemd = systemd;
    this.relay = relay;
  }
  /** `cut`: how a relay between the agent and systemd interrupts their connection. */
  static async make(cut?: Cut): Promise<AgentPlace> {
    const node = new NodeDirectory();
    node.mount(1, content);
    const behind = cut === undefined ? node.systemd : join(node.root, "behind");
    const systemd = await ScriptedSystemd.start(behind);
    const relay = cut && (await Relay.between(node.systemd, behind, cut));
    return new AgentPlace(node, systemd, relay);
  }
  agent(flags: readonly string[] = [], revision = 1): Promise<AgentProcess> {
    return AgentProcess.start(this.node, {
      revision,
      healthzPort: this.systemd.healthzPort,
      flags,
    });
  }
  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of [this.relay, this.systemd]) await part?.[Symbol.asyncDispose]();
    this.node[Symbol.dispose]();
  }
}

/** What the agent is told: the values of its flags and of its environment. */
import { readFlags, type ParsedFlags } from "#contract/flags.ts";
import { agentEnvironment, type DeliveryMode } from "#contract/names.ts";
import type { TableValues } from "#contract/table.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { flags } from "./flags.ts";

/** Durations are in milliseconds, directories absolute; flags.ts says what each value is for. */
export type Config = Readonly<ReturnType<typeof toConfig>>;

/** What follows the program's name, and the environment. */
export function parseConfig(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): ParsedFlags<Config> {
  const read = readFlags(flags, { argv, environment, quote });
  return read.ok ? { ok: true, value: toConfig(read.value) } : read;
}

/** The mode of delivery that these flags make. */
export function modeOf({ delivery, restart }: Pick<Config, "delivery" | "restart">): DeliveryMode {
  if (delivery === "CredentialProvider") return delivery;
  return restart === "Always" ? "Restart" : "Reread";
}

function toConfig(given: TableValues<typeof flags>) {
  return {
    node: given[agentEnvironment.node],
    uid: given[agentEnvironment.uid],
    template: given.template,
    unit: given.unit,
    delivery: given.delivery,
    scope: given.scope,
    restart: given.restart,
    restartControlPlane: given["restart-control-plane"],
    hiddenFiles: given["hidden-files"],
    probation: given.probation * 1000,
    healthzPort: given["healthz-port"],
    healthzAddress: given["healthz-address"],
    probePort: given["probe-port"],
    secretDirectory: given["secret-directory"],
    kubeletDirectory: given["kubelet-directory"],
    systemdDirectory: given["systemd-directory"],
    podDirectory: given["pod-directory"],
    terminationLog: given["termination-log"],
  };
}

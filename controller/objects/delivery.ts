/**
 * What the template tells agents about a credential provider, and what a live template tells them.
 */
import type { V1DaemonSet } from "@kubernetes/client-node";
import { agentContainer } from "#contract/names.ts";
import type { DeliveryPolicy } from "#controller/policy/delivery.ts";

/**
 * The agent's flags of mode CredentialProvider. Other modes have none, because they are the agent's
 * default.
 */
export function providerFlags(delivery: DeliveryPolicy): Readonly<Record<string, string>> {
  if (delivery.mode !== "CredentialProvider") return {};
  const { mode, scope } = delivery;
  return { delivery: mode, scope };
}

/**
 * True when the live template has all of these flags. Somebody's admission may have removed some,
 * which we leave so; its agents then do something else.
 */
export function tellsProvider(live: V1DaemonSet | undefined, delivery: DeliveryPolicy): boolean {
  const containers = live?.spec?.template.spec?.containers ?? [];
  const { args = [] } = containers.find(({ name }) => name === agentContainer) ?? {};
  const flags = Object.entries(providerFlags(delivery));
  return flags.every(([name, value]) => args[args.indexOf(`--${name}`) + 1] === value);
}

/** How credentials reach kubelets, from the spec's words to one value. Pure. */
import type { DeliverySpec } from "#api/global-pull-secret.ts";

export type DeliveryMode = NonNullable<DeliverySpec["mode"]>;

/**
 * Each mode, and whether a spec may ask for it where the installer says nothing. The two that may
 * change a node's config.json, and no more. A provider of ours is run by every kubelet, which only
 * the installer may allow.
 */
const modes: Readonly<Record<DeliveryMode, "standard" | "by the installer">> = {
  Restart: "standard",
  Reread: "standard",
  CredentialProvider: "by the installer",
};

export const allModes = Object.keys(modes) as readonly DeliveryMode[];
export const standardModes = allModes.filter((mode) => modes[mode] === "standard");

type Provider = Required<NonNullable<DeliverySpec["credentialProvider"]>>;

/** How a credential on a node's disk reaches its kubelet. Only a provider has a further choice. */
export type DeliveryPolicy = Readonly<
  | { mode: Exclude<DeliveryMode, "CredentialProvider"> }
  | ({ mode: "CredentialProvider" } & Provider)
>;

/**
 * Defaults of `credentialProvider: {}`, as the API server fills them in; a test compares them with
 * manifests/crds.
 */
export const providerDefaults = { scope: "All" } as const;

/** The delivery that this spec asks for; `standard` where it names no mode. */
export function deliveryOf(
  asked: DeliverySpec | undefined,
  standard: DeliveryMode,
): DeliveryPolicy {
  const mode = asked?.mode ?? standard;
  if (mode !== "CredentialProvider") return { mode };
  return { mode, ...providerDefaults, ...asked?.credentialProvider };
}

/** Whether agents restart kubelets. Agents that never do get no way to systemd. */
export function restartOf({ mode }: DeliveryPolicy): "Always" | "Never" {
  return mode === "Restart" ? "Always" : "Never";
}

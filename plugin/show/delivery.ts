/** Describes for people how credentials reach kubelets, by the object's spec. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";

/** A line for a delivery mode other than the default. */
export function deliveryLines({ spec }: GlobalPullSecret): string[] {
  const { mode, credentialProvider } = spec?.delivery ?? {};
  if (mode === undefined || mode === "Restart") return [];
  const { scope } = credentialProvider ?? {};
  return [`Delivery  ${mode}${scope === undefined ? "" : ` (${scope})`}`];
}

/**
 * Whether only pods of annotated ServiceAccounts get credentials from sources other than the
 * original.
 */
export function isScoped({ spec }: GlobalPullSecret): boolean {
  const { mode, credentialProvider } = spec?.delivery ?? {};
  return mode === "CredentialProvider" && credentialProvider?.scope === "Annotated";
}

/** How credentials reach kubelets, as the object's spec has it, for people. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";

/**
 * A line for a delivery that is not the default one, because what is promised of restarts is then
 * kept in another way.
 */
export function deliveryLines({ spec }: GlobalPullSecret): string[] {
  const { mode, credentialProvider } = spec?.delivery ?? {};
  if (mode === undefined || mode === "Restart") return [];
  const { scope } = credentialProvider ?? {};
  return [`Delivery  ${mode}${scope === undefined ? "" : ` (${scope})`}`];
}

/** Whether only pods of annotated ServiceAccounts are served by what is not the original's. */
export function isScoped({ spec }: GlobalPullSecret): boolean {
  const { mode, credentialProvider } = spec?.delivery ?? {};
  return mode === "CredentialProvider" && credentialProvider?.scope === "Annotated";
}

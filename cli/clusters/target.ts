/** A Secret that an account of ours is to write in another cluster, as a flag names it. */
import { additionalSecretName, globalSecretName } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";

/** A DNS label, and a DNS subdomain. */
const label = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const place = new RegExp(`^(${label})/(${label}(?:\\.${label})*)$`);

/**
 * NAMESPACE/NAME; none that FleetSecret's schema refuses. global-pull-secret-joined-token is among
 * those: a token is bound to it, and whoever may make it anew could ask for one that outlives the
 * join's.
 */
export function target(value: string): Readonly<{ namespace: string; name: string }> | Wrong {
  const [, namespace = "", name = ""] = place.exec(value) ?? [];
  if (name === "" || name.length > 253)
    return new Wrong("is no NAMESPACE/NAME; give one such as kube-system/pull-secret");
  return name === additionalSecretName || name.startsWith(globalSecretName)
    ? new Wrong("belongs to that cluster, and no FleetSecret may bring it; name another")
    : { namespace, name };
}

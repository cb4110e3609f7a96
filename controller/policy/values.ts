/** Readers of values that only the controller's flags use. */
import { oneOf, Wrong } from "#contract/values.ts";
import { deliveryModes as allModes, type DeliveryMode } from "#contract/names.ts";

/** Reads one mode, or several separated by commas. */
export function deliveryModes(value: string): readonly DeliveryMode[] | Wrong {
  const mode = oneOf(...allModes);
  const modes: DeliveryMode[] = [];
  for (const part of value.split(",")) {
    const read = mode(part.trim());
    if (read instanceof Wrong) return read;
    modes.push(read);
  }
  return modes;
}

/**
 * Reads a number of nodes or a percentage. `10%` stays text, as in Kubernetes. `3` becomes a
 * number.
 */
export function budget(value: string): number | string | Wrong {
  const [, digits, percent] = /^(\d{1,6})(%?)$/.exec(value) ?? [];
  const number = Number(digits);
  if (percent === "%" && number >= 1 && number <= 100) return `${number}%`;
  if (percent === "" && number >= 1) return number;
  return new Wrong("is neither a number of nodes from 1 nor a percentage from 1% to 100%");
}

/** Reads a budget, or 0. */
export function failures(value: string): number | string | Wrong {
  if (/^0%?$/.test(value)) return 0;
  const result = budget(value);
  return result instanceof Wrong
    ? new Wrong("is neither a number of nodes nor a percentage from 0% to 100%")
    : result;
}

export const dnsName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/**
 * Reads the name of a pull secret. The name has no namespace, because pods use pull secrets of
 * their own namespace.
 */
export function pullSecretName(value: string): string | Wrong {
  return dnsName.test(value) ? value : new Wrong("is not a valid Secret name (example: regcred)");
}

export function secretReference(
  value: string,
): { namespace: string; name: string } | undefined | Wrong {
  if (value === "") return undefined;
  const [namespace = "", name = "", ...more] = value.split("/");
  if (more.length === 0 && dnsName.test(namespace) && dnsName.test(name))
    return { namespace, name };
  return new Wrong("is not NAMESPACE/NAME of a Secret (example: kube-system/pull-secret)");
}

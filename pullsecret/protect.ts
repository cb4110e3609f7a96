/** Which registries can be protected from additional entries. */
import { Wrong } from "#contract/values.ts";
import { identity } from "./registry.ts";

/**
 * Reads a value of `--protect`. One that the merge cannot protect would refuse every merge from
 * then on.
 */
export function protectable(value: string): string | Wrong {
  if (value.trim() === "") return new Wrong("is empty; give a registry such as quay.io");
  return identity(value) === undefined
    ? new Wrong("is no registry; name it as image names have it, such as quay.io")
    : value;
}

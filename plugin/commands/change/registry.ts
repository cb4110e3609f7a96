/** A registry as an operand. */
import { Wrong } from "#contract/values.ts";
import { identity } from "#pullsecret/registry/registry.ts";

/**
 * Reads a registry. A key that no image could match is a slip and refused here; the controller's
 * verdict says what else may be wrong with it.
 */
export function registry(value: string): string | Wrong {
  return identity(value) === undefined
    ? new Wrong("is not a registry as images name it (examples: quay.io, quay.io/team)")
    : value;
}

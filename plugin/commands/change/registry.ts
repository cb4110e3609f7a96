/** A registry as an operand. */
import { Wrong } from "#contract/values.ts";
import { identity } from "#pullsecret/registry/registry.ts";

/**
 * Reads a registry. A key that no image can match is a typing error, so it is refused here. The
 * controller's verdict reports any other problem of the key.
 */
export function registry(value: string): string | Wrong {
  return identity(value) === undefined
    ? new Wrong("is not a registry as images name it (examples: quay.io, quay.io/team)")
    : value;
}

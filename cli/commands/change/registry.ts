/** A registry as an operand. */
import { Wrong } from "#contract/values.ts";
import { identity } from "#pullsecret/registry/registry.ts";

/** What no image could match is a slip; what else is wrong with a key the verdict says. */
export function registry(value: string): string | Wrong {
  return identity(value) === undefined
    ? new Wrong("is no registry; give one as images name it, such as quay.io or quay.io/team")
    : value;
}

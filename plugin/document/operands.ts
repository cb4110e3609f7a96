/** A flag whose value is a file. */
import { Wrong } from "#contract/values.ts";
import { identity } from "#pullsecret/registry/registry.ts";

/** A file's name, or `-` for standard input. */
export function path(text: string): string | Wrong {
  return text === "" ? new Wrong("is empty; give a file, or - for standard input") : text;
}

/** Accepts a registry in any spelling, because the Secret might contain this spelling. */
export const knownRegistry = (value: string): string => value;

/**
 * Reads a registry. Refuses a key that no image can match, because such a key is a typing error.
 * The controller reports all other problems of a key.
 */
export function registry(value: string): string | Wrong {
  return identity(value) === undefined
    ? new Wrong("is not a registry as images name it (examples: quay.io, quay.io/team)")
    : value;
}

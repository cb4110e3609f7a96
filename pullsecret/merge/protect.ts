/** Registries that are protected from every source but the original. */
import { Wrong } from "#contract/values.ts";
import { formatPath, quote } from "../problems/keypath.ts";
import { problem, type Problem } from "../problems/problems.ts";
import { identity, overlaps, spelling } from "../registry/registry.ts";

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

/**
 * Of these entries, those that would serve images of a protected registry: the registry itself, a
 * path below or above it, or a wildcard over it, whether or not the original has an entry there.
 */
export function findProtected(
  entries: readonly Readonly<{ id: string; registry: string }>[],
  protect: readonly string[],
): Problem[] {
  const problems: Problem[] = [];
  for (const name of protect) {
    const guarded = identity(name);
    if (guarded === undefined) {
      problems.push(problem("badProtect", "protect", quote(name)));
      continue;
    }
    // `a.io/v1/foo` is the registry a.io/foo as a key, and also the beginning of an image's name:
    // both are meant.
    const asImage = identity(spelling(name)) ?? guarded;
    for (const { id, registry } of entries) {
      const meant = identity(registry) ?? "";
      if (!overlaps(meant, guarded) && !overlaps(meant, asImage)) continue;
      problems.push(problem("protected", id, formatPath(["auths", registry]), quote(name)));
    }
  }
  return problems;
}

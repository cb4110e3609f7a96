/** Registries that are protected from every source but the original. */
import { Wrong } from "#contract/values.ts";
import { formatPath, quote } from "../problems/keypath.ts";
import { problem, type Problem } from "../problems/problems.ts";
import { hostOf, identity, isHubPage, overlaps, spelling } from "../registry/registry.ts";

/**
 * Reads a value of `--protect`, or of spec.protectedRegistries. One that protects nothing would be
 * believed in, so it is refused.
 */
export function protectable(value: string): string | Wrong {
  if (value.trim() === "") return new Wrong("is empty; give a registry such as quay.io");
  const registry = identityOf(value);
  if (registry === undefined)
    return new Wrong("is no registry; name it as image names have it, such as quay.io");
  return isHubPage(registry)
    ? new Wrong("is no host of image names; give docker.io for Docker Hub")
    : value;
}

/**
 * Of these entries, those that would serve images of a protected registry: the registry itself, a
 * path below or above it, or a wildcard over it, whether or not the original has an entry there.
 * Capitals of the host do not count, nor does the port 443: the registry is the same.
 */
export function findProtected(
  entries: readonly Readonly<{ id: string; registry: string }>[],
  protect: readonly string[],
): Problem[] {
  const problems: Problem[] = [];
  for (const name of protect) {
    const guarded = identityOf(name);
    if (guarded === undefined || isHubPage(guarded)) {
      problems.push(problem("badProtect", "protect", quote(name)));
      continue;
    }
    // `a.io/v1/foo` is the registry a.io/foo as a key, and also the beginning of an image's name:
    // both are meant.
    const asImage = identityOf(spelling(withoutCase(name))) ?? guarded;
    for (const { id, registry } of entries) {
      const meant = identityOf(registry) ?? "";
      if (!overlaps(meant, guarded) && !overlaps(meant, asImage)) continue;
      problems.push(problem("protected", id, formatPath(["auths", registry]), quote(name)));
    }
  }
  return problems;
}

/** The registry that is meant, without what does not make it another one. */
function identityOf(name: string): string | undefined {
  const registry = identity(withoutCase(name));
  const host = registry === undefined ? "" : hostOf(registry);
  if (registry === undefined || !/:0*443$/.test(host)) return registry;
  const plain = host.slice(0, host.lastIndexOf(":")) + registry.slice(host.length);
  // An IPv6 address, or a host without a dot, is no host of image names without a port.
  return identity(spelling(plain)) ?? registry;
}

function withoutCase(name: string): string {
  return name.replace(/^(?:https?:\/\/)?[^/]*/i, (host) => host.toLowerCase());
}

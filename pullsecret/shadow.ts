/**
 * Additional entries that take images over from entries of the original without being for the same
 * registry.
 */
import { formatPath, quote } from "./keypath.ts";
import type { Entry } from "./parse.ts";
import { problem, type Problem } from "./problems.ts";
import {
  dockerHubKey,
  hasWildcard,
  hidesDockerHub,
  hostOf,
  identity,
  isTriedBefore,
  overlaps,
} from "./registry.ts";

/**
 * At most one warning for each added registry: that the kubelet tries it before an entry of the
 * original for some image of both, as `quay.io/openshift` before `quay.io`; or that the original
 * leaves Docker Hub's own entry no image to serve.
 */
export function findShadows(original: readonly Entry[], added: readonly string[]): Problem[] {
  // Backwards: of `quay.io` and `quay.io/openshift` the nearer one is named.
  const known = original
    .flatMap(({ registry }) => identity(registry) ?? [])
    .toSorted()
    .toReversed();
  if (known.length === 0) return [];
  const near = nearby(known);
  return added.flatMap((key) => {
    const registry = identity(key) ?? key;
    const hiding = key === dockerHubKey ? known.find(hidesDockerHub) : undefined;
    if (hiding !== undefined) return [warning("hidden", key, hiding)];
    const shadowed = near(registry).find(
      (other) => isTriedBefore(registry, other) && overlaps(registry, other),
    );
    return shadowed === undefined ? [] : [warning("shadow", key, shadowed)];
  });
}

/**
 * Without wildcards only registries of one host can meet: 1,000 entries against 1,000 take
 * milliseconds, not a second.
 */
function nearby(known: readonly string[]): (registry: string) => readonly string[] {
  const everywhere = known.filter(isEverywhere);
  // Not Map.groupBy: the command line runs on Node 20 as well.
  const byHost = new Map<string, string[]>();
  for (const registry of known) {
    const host = hostOf(registry);
    const group = byHost.get(host);
    if (group === undefined) byHost.set(host, [registry]);
    else group.push(registry);
  }
  return (registry) =>
    isEverywhere(registry) ? known : [...(byHost.get(hostOf(registry)) ?? []), ...everywhere];
}

/** Docker Hub's own entry serves images of another host. */
function isEverywhere(registry: string): boolean {
  return hasWildcard(registry) || registry === identity(dockerHubKey);
}

function warning(kind: "hidden" | "shadow", key: string, other: string): Problem {
  return problem(kind, "additional", formatPath(["auths", key]), quote(other));
}

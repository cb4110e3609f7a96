/** Finds an entry that the kubelet tries before another source's entry for another registry. */
import { imagesOf, meaningOf } from "../registry/key.ts";
import { formatPath, quote } from "../problems/keypath.ts";
import { called, isOriginal, type MergeSource } from "./offer.ts";
import type { Entry } from "../document/parse.ts";
import { problem, type Problem } from "../problems/problems.ts";
import {
  dockerHubImages,
  dockerHubKey,
  hasWildcard,
  hidesDockerHub,
  hostOf,
  identity,
  isHubLogin,
  isTriedBefore,
  overlaps,
} from "../registry/registry.ts";

/** An entry that another source's entry might shadow. `registry`: its identity. */
type Known = Readonly<{ id: string; registry: string }>;

type Written = Entry & Readonly<{ from: string }>;

/**
 * Warnings about registries of sources other than the original, at most one for each registry.
 * There are two cases. First: the kubelet tries the source's entry before a written entry of
 * another source that has no entry for the same registry. For example, the kubelet tries
 * `quay.io/openshift` before `quay.io`, whatever the priority of the sources. Second: an entry of
 * another source takes all images from the source's entry for Docker Hub. `written`: the merge of
 * all sources. `isHubLost`: a wildcard takes Docker Hub's images from several sources. Then we
 * check the entry of each of these sources, even if the entry is not written.
 */
export function findShadows(
  sources: readonly MergeSource[],
  written: readonly Written[],
  isHubLost: boolean,
): Problem[] {
  const used = sources.map(({ id, accepted }) => ({ id, entries: usedOf(accepted) }));
  const groups = new Map<string, Written[]>();
  for (const entry of written) {
    const images = imagesOf(entry.registry);
    groups.set(images, [...(groups.get(images) ?? []), entry]);
  }
  const isWritten = ({ registry, credential }: Entry) =>
    (isHubLost && imagesOf(registry) === dockerHubImages) ||
    groups.get(imagesOf(registry))?.some((entry) => entry.credential.equals(credential)) === true;
  const had = new Map(
    used.map(({ id, entries }) => [id, new Set(entries.map(({ registry }) => imagesOf(registry)))]),
  );
  // If Docker Hub's entry is written as `docker.io`, the kubelet looks it up by `docker.io`, and
  // not by docker login's key.
  const isNamed = written.some(({ registry }) => identity(registry) === dockerHubImages);
  // We search in reverse order, so that the warning names the longer path: `quay.io/openshift` and
  // not `quay.io`.
  const registries = used
    .flatMap(({ id, entries }) =>
      entries.filter(isWritten).map(({ registry }) => ({ id, registry })),
    )
    .flatMap(({ id, registry }) => {
      const meant = isNamed && isHubLogin(registry) ? dockerHubImages : identity(registry);
      return meant === undefined ? [] : [{ id, registry: meant }];
    })
    .toSorted((a, b) => (a.registry > b.registry ? -1 : Number(a.registry < b.registry)));
  return sources.flatMap((source) => {
    const { id, accepted } = source;
    const others = isOriginal(source) ? [] : registries.filter((other) => other.id !== id);
    if (others.length === 0) return [];
    const near = nearby(others);
    const own = new Set(
      written.filter(({ from }) => from === id).map(({ registry }) => meaningOf(registry)),
    );
    return accepted.entries.flatMap(({ registry: key }) => {
      if (!own.has(meaningOf(key)) || (isNamed && isHubLogin(key))) return [];
      const isOther = (other: Known) => had.get(other.id)?.has(imagesOf(key)) !== true;
      return shadowOf(id, key, others, near, isOther);
    });
  });
}

/**
 * The entries of a source that serve images. Docker login's key serves no image beside an entry
 * that hides it, such as a wildcard.
 */
function usedOf({ entries }: MergeSource["accepted"]): MergeSource["accepted"]["entries"] {
  const isHidden = entries.some(({ registry }) => hidesDockerHub(registry));
  return entries.filter(({ registry }) => !(isHidden && isHubLogin(registry)));
}

function shadowOf(
  id: string,
  key: string,
  others: readonly Known[],
  near: ReturnType<typeof nearby>,
  isOther: (other: Known) => boolean,
): Problem[] {
  const path = formatPath(["auths", key]);
  const registry = identity(key) ?? key;
  const hides = (other: Known) => hidesDockerHub(other.registry) && isOther(other);
  const hiding = isHubLogin(key) ? others.find(hides) : undefined;
  if (hiding !== undefined) return [problem("hidden", id, path, quote(hiding.registry))];
  const shadowed = near(registry).find(
    (other) =>
      isTriedBefore(registry, other.registry) &&
      overlaps(registry, other.registry) &&
      isOther(other),
  );
  if (shadowed === undefined) return [];
  return [problem("shadow", id, path, quote(shadowed.registry), called(shadowed.id))];
}

/**
 * Without wildcards, only registries of the same host can match the same image. We compare only
 * these, so 1,000 entries against 1,000 take milliseconds, not a second.
 */
function nearby(registries: readonly Known[]): (registry: string) => readonly Known[] {
  const everywhere = registries.filter(({ registry }) => isEverywhere(registry));
  const byHost = Map.groupBy(registries, ({ registry }) => hostOf(registry));
  return (registry) =>
    isEverywhere(registry) ? registries : [...(byHost.get(hostOf(registry)) ?? []), ...everywhere];
}

/** Whether a registry can match images of other hosts: a wildcard, or Docker Hub's own entry. */
function isEverywhere(registry: string): boolean {
  return hasWildcard(registry) || registry === identity(dockerHubKey);
}

/** The difference between two documents: registries only, never a credential. Pure. */
import type { Entry } from "#pullsecret/document/parse.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";

/** Registries, sorted. `changed`: their credential differs. */
export type Difference = Readonly<{
  added: readonly string[];
  changed: readonly string[];
  removed: readonly string[];
}>;

/**
 * Compares what the documents mean. Another spelling of a registry, or another order of the
 * entries, is not a difference.
 */
export function differenceOf(before: readonly Entry[], after: readonly Entry[]): Difference {
  const [former, present] = [byImages(before), byImages(after)];
  const namesOf = (
    entries: ReadonlyMap<string, Registry>,
    isListed: (images: string, registry: Registry) => boolean,
  ) =>
    [...entries]
      .flatMap(([images, registry]) => (isListed(images, registry) ? [registry.name] : []))
      .toSorted();
  return {
    added: namesOf(present, (images) => !former.has(images)),
    changed: namesOf(present, (images, { credentials }) => {
      const old = former.get(images);
      return old !== undefined && old.credentials !== credentials;
    }),
    removed: namesOf(former, (images) => !present.has(images)),
  };
}

type Registry = Readonly<{ name: string; credentials: string }>;

/** The registries by the images that they serve. Docker Hub can have several entries. */
function byImages(entries: readonly Entry[]): ReadonlyMap<string, Registry> {
  const groups = Map.groupBy(entries, ({ registry }) => imagesOf(registry));
  return new Map(
    [...groups].map(([images, group]) => {
      const [name = ""] = group.map(({ registry }) => redactKey(registry)).toSorted();
      const credentials = new Set(group.map(({ credential }) => credential.encode()));
      return [images, { name, credentials: [...credentials].toSorted().join(" ") }];
    }),
  );
}

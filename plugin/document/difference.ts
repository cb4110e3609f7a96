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

export const isSame = ({ added, changed, removed }: Difference): boolean =>
  added.length + changed.length + removed.length === 0;

type Registry = Readonly<{ name: string; credentials: string }>;

/** The registries by the images that they serve. Docker Hub can have several entries. */
function byImages(entries: readonly Entry[]): ReadonlyMap<string, Registry> {
  const registries = new Map<string, Registry>();
  for (const { registry, credential } of entries.toSorted((a, b) =>
    a.registry < b.registry ? -1 : 1,
  )) {
    const images = imagesOf(registry);
    const { name = redactKey(registry), credentials = "" } = registries.get(images) ?? {};
    registries.set(images, { name, credentials: `${credentials} ${credential.encode()}` });
  }
  return registries;
}

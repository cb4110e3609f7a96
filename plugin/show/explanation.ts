/** Finds the source that serves an image, from the object's status. Pure. */
import type { GlobalPullSecret, RegistryStatus } from "#api/global-pull-secret.ts";
import { sourceIds } from "#contract/names.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";
import { match } from "#pullsecret/kubelet/match.ts";

/** The answer that `-o json` prints. Its shape is stable. */
export type Explained = Readonly<{
  image: string;
  /**
   * The entries that the kubelet tries, in the kubelet's order. The order of entries with the same
   * number is random, and changes each time the kubelet reads the file.
   */
  tries: readonly (RegistryStatus & Readonly<{ order: number }>)[];
  ignored: readonly Readonly<{ registry: string; reason: string }>[];
  /** The number of registries that the status does not list. They might also serve the image. */
  omitted: number;
}>;

/** Explains which source serves an image. Undefined if the image is not a valid reference. */
export function explainObject(object: GlobalPullSecret, image: string): Explained | undefined {
  const { spec, status } = object;
  const repository = repositoryOf(image);
  if (repository === undefined) return undefined;
  const listed = (status?.registries ?? []).map((entry) => ({ key: entry.registry, one: entry }));
  const { tries, ignored } = match(listed, repository);
  let order = 0;
  const orderedTries = tries.flatMap((group) => {
    const first = order + 1;
    order += group.length;
    return group.map(({ one: entry }) => ({ ...entry, order: first }));
  });
  return {
    image,
    tries: spec?.delivery?.mode === "CredentialProvider" ? fileFirst(orderedTries) : orderedTries,
    ignored: ignored.map(({ key, reason }) => ({ registry: key, reason })),
    omitted: status?.registriesOmitted ?? 0,
  };
}

/**
 * The entries in the order of kubelets in mode CredentialProvider: first the entries of
 * config.json, all of which are from the original, then the entries of the provider.
 */
function fileFirst(tries: Explained["tries"]): Explained["tries"] {
  const isInFile = ({ source }: RegistryStatus) => source === sourceIds.original;
  // Only the original can have several entries for one registry, so the new order does not separate
  // entries that have the same number.
  return renumbered([...tries.filter(isInFile), ...tries.filter((entry) => !isInFile(entry))]);
}

/** Numbers the entries again from 1. Entries that had equal numbers get equal numbers again. */
function renumbered(tries: Explained["tries"]): Explained["tries"] {
  let order = 0;
  return tries.map((entry, at) => {
    if (entry.order !== tries[at - 1]?.order) order = at + 1;
    return { ...entry, order };
  });
}

/** The text above the entries, which explains their numbers. */
export function orderOf(tries: readonly Readonly<{ order: number }>[]): string {
  const isDrawn = new Set(tries.map(({ order }) => order)).size < tries.length;
  return isDrawn ? drawnOrder : fixedOrder;
}

const fixedOrder = "with, in this order:";
const drawnOrder =
  "with, in this order (the kubelet tries entries with the same number in random order):";

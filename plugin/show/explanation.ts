/** Finds the source that serves an image, from the object's status. Pure. */
import type { GlobalPullSecret, RegistryStatus } from "#api/global-pull-secret.ts";
import { type DeliveryMode, sourceIds } from "#contract/names.ts";
import { wholeHost } from "#pullsecret/containerd/endpoints.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";
import { match } from "#pullsecret/kubelet/match.ts";

/** The answer that `-o json` prints. Its shape is stable. */
export type Explained = Readonly<{
  image: string;
  /**
   * The entries that the kubelet tries, in the kubelet's order. The order of entries with the same
   * number is random, and changes each time the kubelet reads the file. `place`: which file of the
   * nodes has the entry, if it is not config.json.
   */
  tries: readonly (RegistryStatus & Readonly<{ order: number; place?: "hosts.toml" }>)[];
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
    tries: placed(orderedTries, spec?.delivery?.mode),
    ignored: ignored.map(({ key, reason }) => ({ registry: key, reason })),
    omitted: status?.registriesOmitted ?? 0,
  };
}

/** Whether config.json has the entry in a mode that also uses another file. */
const inFile: Readonly<Partial<Record<DeliveryMode, (entry: RegistryStatus) => boolean>>> = {
  CredentialProvider: ({ source }) => source === sourceIds.original,
  Runtime: ({ source, registry }) =>
    source === sourceIds.original || wholeHost(registry) === undefined,
};

/**
 * The entries in their order in this mode: first the entries of config.json, then those of the
 * credential provider or of containerd's hosts.toml.
 */
function placed(tries: Explained["tries"], mode: DeliveryMode = "Restart"): Explained["tries"] {
  const isInFile = inFile[mode];
  if (isInFile === undefined) return tries;
  const others = tries.filter((entry) => !isInFile(entry));
  const beside =
    mode === "Runtime"
      ? others.map((entry) => ({ ...entry, place: "hosts.toml" as const }))
      : others;
  // Only the original can have several entries for one registry, so the new order does not separate
  // entries that have the same number.
  return renumbered([...tries.filter(isInFile), ...beside]);
}

/** Numbers the entries again from 1. Entries that had equal numbers get equal numbers again. */
function renumbered(tries: Explained["tries"]): Explained["tries"] {
  let order = 0;
  return tries.map((entry, at) => {
    if (entry.order !== tries[at - 1]?.order) order = at + 1;
    return { ...entry, order };
  });
}

/** The end of an entry's line, if the entry is not in config.json. */
export function inPlace(place: Explained["tries"][number]["place"]): string {
  return place === undefined ? "" : `, in ${place}`;
}

/** The text above the entries, which explains their numbers. */
export function orderOf(tries: readonly Readonly<{ order: number }>[]): string {
  const isDrawn = new Set(tries.map(({ order }) => order)).size < tries.length;
  return isDrawn ? drawnOrder : fixedOrder;
}

const fixedOrder = "with, in this order:";
const drawnOrder =
  "with, in this order (the kubelet tries entries with the same number in random order):";

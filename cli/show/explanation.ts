/** Which source serves an image, by what the object's status tells. Pure. */
import type { GlobalPullSecret, RegistryStatus } from "#api/global-pull-secret.ts";
import { sourceIds } from "#contract/names.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";
import { match } from "#pullsecret/kubelet/match.ts";

/** The answer as `-o json` prints it: a stable shape. */
export type Explained = Readonly<{
  image: string;
  /** The entries that are tried, in the kubelet's order. */
  tries: readonly RegistryStatus[];
  ignored: readonly Readonly<{ registry: string; reason: string }>[];
  /** Registries that status does not list: one of them may serve the image as well. */
  omitted: number;
}>;

/** Explains which source serves an image; undefined where the image is no valid reference. */
export function explainObject(object: GlobalPullSecret, image: string): Explained | undefined {
  const { spec, status } = object;
  const repository = repositoryOf(image);
  if (repository === undefined) return undefined;
  const listed = (status?.registries ?? []).map((one) => ({ key: one.registry, one }));
  const { tries, ignored } = match(listed, repository);
  const found = tries.flat().map(({ one }) => one);
  return {
    image,
    tries: spec?.delivery?.mode === "CredentialProvider" ? fileFirst(found) : found,
    ignored: ignored.map(({ key, reason }) => ({ registry: key, reason })),
    omitted: status?.registriesOmitted ?? 0,
  };
}

/**
 * The entries in the order that kubelets have with a provider: config.json comes before any
 * provider, and holds only the original's entries then.
 */
function fileFirst(tries: readonly RegistryStatus[]): RegistryStatus[] {
  const isInFile = ({ source }: RegistryStatus) => source === sourceIds.original;
  return [...tries.filter(isInFile), ...tries.filter((one) => !isInFile(one))];
}

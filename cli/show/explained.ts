/** Which source serves an image, by what the object's status tells. Pure. */
import type { GlobalPullSecret, RegistryStatus } from "#api/global-pull-secret.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";
import { match } from "#pullsecret/kubelet/match.ts";

/** A stable shape: `-o json` prints it. */
export type Explained = Readonly<{
  image: string;
  /** In the kubelet's order. */
  tries: readonly RegistryStatus[];
  ignored: readonly Readonly<{ registry: string; reason: string }>[];
  /** Registries that status does not list: one of them may serve the image as well. */
  omitted: number;
}>;

/** Undefined where the image is no valid reference. */
export function explainObject({ status }: GlobalPullSecret, image: string): Explained | undefined {
  const repository = repositoryOf(image);
  if (repository === undefined) return undefined;
  const listed = (status?.registries ?? []).map((one) => ({ key: one.registry, one }));
  const { tries, ignored } = match(listed, repository);
  return {
    image,
    tries: tries.flat().map(({ one }) => one),
    ignored: ignored.map(({ key, reason }) => ({ registry: key, reason })),
    omitted: status?.registriesOmitted ?? 0,
  };
}

/** Names and versions of the sources' Secrets, without their content. */
import type { V1Secret } from "@kubernetes/client-node";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { additionalSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { Misuse } from "../terminal/io.ts";

/** The name of a source and the name of its Secret in kube-system. */
export type SourceSecret = Readonly<{ source: string; secret: string }>;

const additional: SourceSecret = { source: additionalSecretName, secret: additionalSecretName };

/** The Secrets of additional-pull-secret and of the sources in spec.sources. */
export function sourceSecrets(object: GlobalPullSecret | undefined): readonly SourceSecret[] {
  const extra = object?.spec?.sources ?? [];
  return [
    additional,
    ...extra.map(({ name, secretRef }) => ({ source: name, secret: secretRef.name })),
  ];
}

/** The source with this name. Throws Misuse if there is no such source. */
export function sourceSecret(
  object: GlobalPullSecret | undefined,
  name = additionalSecretName,
): SourceSecret {
  const all = sourceSecrets(object);
  const found = all.find(({ source }) => source === name);
  if (found !== undefined) return found;
  const known = all.map(({ source }) => source).join(", ");
  throw new Misuse(`--source: no source of spec.sources has this name; give ${known}`);
}

export const secretPath = (name: string): string => `${collections.secrets}/${name}`;

/** `hidden`: the caller has no right to get the Secret. */
export type SecretVersion = Readonly<{ version: string | undefined }> | "hidden";

/** The resourceVersion of the Secret. Undefined if the Secret does not exist. */
export async function versionOf(cluster: Cluster, secret: string): Promise<SecretVersion> {
  try {
    const found = await cluster.get<V1Secret>(secretPath(secret), { as: "metadata" });
    return { version: found?.metadata?.resourceVersion };
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return "hidden";
    throw error;
  }
}

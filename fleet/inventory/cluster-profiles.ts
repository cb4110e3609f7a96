/**
 * The clusters that ClusterProfiles describe. The FleetSecret names the namespaces and the managers
 * of these profiles. We support the two secret readers of the inventory's reference implementation.
 * We do not run these programs: the controller reads the same Secrets itself.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { type ClusterProfile, execExtension, type AccessProvider } from "#api/cluster-profile.ts";
import type { ClusterProfilesSource } from "#api/fleet-secret.ts";
import { fieldsOf, itemsOf, type Fields } from "#contract/fields.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { type Access, certificatesIn } from "#kube/kubeconfig/access.ts";
import { parseKubeconfig } from "#kube/kubeconfig/parse.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { readKubeconfig } from "#kube/remote.ts";
import { sentence } from "../rules/problems.ts";
import { reading, type AccessReading } from "./access.ts";
import { queryOf } from "./selector.ts";
import { tokenKey } from "#contract/joined.ts";

/** `NAMESPACE/NAME` of each selected profile. */
export async function profilesOf(
  home: Cluster,
  { namespaces, selector, clusterManagers }: ClusterProfilesSource,
): Promise<string[]> {
  const managers = new Set(clusterManagers);
  const names: string[] = [];
  for (const namespace of new Set(namespaces)) {
    await home.pages<ClusterProfile>(clusterProfilesIn(namespace), queryOf(selector), (page) => {
      for (const { metadata, spec } of page)
        if (managers.has(spec.clusterManager.name)) names.push(`${namespace}/${metadata.name}`);
    });
  }
  return names;
}

/** The access to the cluster of the profile `namespace/name`. */
export async function ofProfile(home: Cluster, path: string): Promise<AccessReading> {
  const [namespace = "", name = ""] = path.split("/");
  const profile = await home.get<ClusterProfile>(`${clusterProfilesIn(namespace)}/${name}`);
  if (profile === undefined) return { ok: false, why: sentence("noProfile", path), absent: true };
  return (await readProfile(home, profile)).read;
}

/** The access to the cluster of this profile, and the profile's Secret. */
export async function readProfile(
  home: Cluster,
  profile: ClusterProfile,
): Promise<Readonly<{ read: AccessReading; secret?: V1Secret | undefined }>> {
  const source = credentialSourceOf(profile);
  if ("problem" in source)
    return { read: { ok: false, why: sentence(source.problem, source.detail) } };
  const { namespace = "", name = "" } = profile.metadata;
  const secret = await home.get<V1Secret>(`${secretsIn(namespace)}/${source.secret}`);
  return { read: accessBy(source, secret, name), secret };
}

function accessBy(
  source: CredentialSource,
  secret: V1Secret | undefined,
  name: string,
): AccessReading {
  const value = secret?.data?.[source.key];
  if (value === undefined)
    return {
      ok: false,
      why: sentence("noCredential", `${source.secret}, ${source.key}`),
      absent: true,
    };
  const sourceText = JSON.stringify([source.cluster, value]);
  const bytes = Buffer.from(value, "base64");
  if (source.holds === "token")
    return reading(
      parseKubeconfig(configOf(source.cluster, { token: bytes.toString() }), name),
      sourceText,
    );
  const place = parseKubeconfig(configOf(source.cluster, { token: "none" }), name);
  const proof = readKubeconfig(bytes, source.secret, source.context);
  // The profile and the kubeconfig must name the same server. Without this check, the profile's
  // author could send the credential of any kubeconfig in this namespace to any server. We use the
  // kubeconfig's authority, because the profile's authority could contain additional certificates
  // in a form that this comparison ignores but OpenSSL trusts.
  if (place.ok && proof.ok && placeOf(place.access) !== placeOf(proof.access))
    return { ok: false, why: sentence("provider", "the kubeconfig leads to another server") };
  return reading(place.ok ? proof : place, sourceText);
}

/**
 * Identifies a server: its address, the name in its certificate, and the authority's certificates.
 */
const placeOf = ({ server, serverName, authority }: Access): string =>
  JSON.stringify([server, serverName, authority === undefined ? null : certificatesIn(authority)]);

/** A kubeconfig of one cluster and one user. We check it like any other kubeconfig. */
const configOf = (cluster: object, user: object) => ({
  clusters: [{ name: "profile", cluster }],
  users: [{ name: "profile", user }],
  contexts: [{ name: "profile", context: { cluster: "profile", user: "profile" } }],
  "current-context": "profile",
});

/** The Secret that contains the credential, in the profile's own namespace. */
export type CredentialSource = Readonly<{
  /** The `cluster` part of a kubeconfig, not yet validated. */
  cluster: Fields;
  secret: string;
  key: string;
}> &
  (Readonly<{ holds: "token" }> | Readonly<{ holds: "kubeconfig"; context: string | undefined }>);

/** Why we have no access through a profile: the kind of problem, and its detail. */
export type ProviderProblem = Readonly<{ problem: "noProvider" | "provider"; detail: string }>;

/** The Secret with the credential, from the first of the profile's providers that we support. */
export function credentialSourceOf({
  metadata,
  status,
}: ClusterProfile): CredentialSource | ProviderProblem {
  const all = [...(status?.accessProviders ?? []), ...(status?.credentialProviders ?? [])];
  const provider = all.find(({ name }) => Object.hasOwn(readers, name));
  if (provider === undefined)
    return { problem: "noProvider", detail: Object.keys(readers).join(" or ") };
  return readers[provider.name as keyof typeof readers](provider, metadata);
}

type Profile = ClusterProfile["metadata"];

const readers = {
  secretreader(
    provider: AccessProvider,
    { name = "" }: Profile,
  ): CredentialSource | ProviderProblem {
    // If we accepted another name, the profile's author could send any token in this namespace to
    // any server.
    const named = extensionOf(provider)["clusterName"] ?? name;
    if (named !== name) return refused("clusterName is not the profile's own name");
    return { cluster: provider.cluster ?? {}, secret: name, key: tokenKey, holds: "token" };
  },
  "kubeconfig-secretreader"(
    provider: AccessProvider,
    { namespace }: Profile,
  ): CredentialSource | ProviderProblem {
    const { name, key, namespace: where = namespace, context } = extensionOf(provider);
    // The fleet's account is allowed to read Secrets by name in all namespaces, but the author of a
    // profile is not.
    if (where !== namespace) return refused("the namespace is not the profile's own");
    if (!isName(name) || !isKey(key))
      return refused("the name of the Secret or the key is missing or not valid");
    if (context !== undefined && typeof context !== "string")
      return refused("context is not a string");
    const cluster = provider.cluster ?? {};
    return { cluster, secret: name, key, holds: "kubeconfig", context };
  },
} as const;

const refused = (detail: string): ProviderProblem => ({ problem: "provider", detail });

/** The parameters for the reader, from the extension in the profile. */
function extensionOf({ cluster }: AccessProvider): Fields {
  const named = itemsOf(cluster?.["extensions"]).find(({ name }) => name === execExtension);
  return fieldsOf(named?.["extension"]);
}

const isName = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length <= 253 &&
  /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value);
const isKey = (value: unknown): value is string =>
  typeof value === "string" && /^[-._a-zA-Z0-9]{1,253}$/.test(value);

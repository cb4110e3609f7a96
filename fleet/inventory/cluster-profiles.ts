/**
 * The clusters that ClusterProfiles describe. The FleetSecret names the namespaces and the managers
 * of these profiles. We support the reader of tokens of the inventory's reference implementation.
 * We do not run this program: the controller reads the same Secrets itself.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { type ClusterProfile, execExtension } from "#api/cluster-profile.ts";
import type { ClusterProfilesSource } from "#api/fleet-secret.ts";
import { fieldsOf, itemsOf, type Fields } from "#contract/fields.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { parseKubeconfig } from "#kube/kubeconfig/parse.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
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
  for (const namespace of namespaces) {
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
  const secret = await home.get<V1Secret>(`${secretsIn(namespace)}/${name}`);
  const value = secret?.data?.[tokenKey];
  if (value === undefined)
    return {
      read: { ok: false, why: sentence("noCredential", `${name}, ${tokenKey}`), absent: true },
    };
  const token = Buffer.from(value, "base64").toString();
  const config = parseKubeconfig(configOf(source.cluster, { token }), name);
  return { read: reading(config, JSON.stringify([source.cluster, value])), secret };
}

/** A kubeconfig of one cluster and one user. We check it like any other kubeconfig. */
const configOf = (cluster: object, user: object) => ({
  clusters: [{ name: "profile", cluster }],
  users: [{ name: "profile", user }],
  contexts: [{ name: "profile", context: { cluster: "profile", user: "profile" } }],
  "current-context": "profile",
});

/** The Secret with the credential: it has the profile's name, and is in its namespace. */
export type CredentialSource =
  /** The `cluster` part of a kubeconfig, not yet validated. */
  Readonly<{ cluster: Fields }> | Readonly<{ problem: "noProvider" | "provider"; detail: string }>;

/** How to reach the profile's cluster, by the provider `secretreader`. */
export function credentialSourceOf({ metadata, status }: ClusterProfile): CredentialSource {
  const provider = status?.accessProviders?.find(({ name }) => name === "secretreader");
  if (provider === undefined) return { problem: "noProvider", detail: "secretreader" };
  const { cluster = {} } = provider;
  const named = itemsOf(cluster["extensions"]).find(({ name }) => name === execExtension);
  // If we accepted another name, the profile's author could send any token in this namespace to
  // any server.
  const { clusterName = metadata.name } = fieldsOf(named?.["extension"]);
  return clusterName === metadata.name
    ? { cluster }
    : { problem: "provider", detail: "clusterName is not the profile's own name" };
}

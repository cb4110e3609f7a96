/** Clusters as ClusterProfiles declare them, in named namespaces and of named managers. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import type { ClusterProfile } from "#api/cluster-profile.ts";
import type { ClusterProfilesSource } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Access } from "#kube/kubeconfig/access.ts";
import { parseKubeconfig } from "#kube/kubeconfig/parse.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { readKubeconfig } from "#kube/remote.ts";
import { sentence } from "../rules/problems.ts";
import { reading, type AccessReading } from "./access.ts";
import { wayOf, type AccessWay } from "./provider.ts";
import { queryOf } from "./selector.ts";

/** `NAMESPACE/NAME` of each profile that is selected. */
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

/** The connection of the profile `namespace/name`. */
export async function ofProfile(home: Cluster, path: string): Promise<AccessReading> {
  const [namespace = "", name = ""] = path.split("/");
  const profile = await home.get<ClusterProfile>(`${clusterProfilesIn(namespace)}/${name}`);
  if (profile === undefined) return { ok: false, why: sentence("noProfile", path), absent: true };
  return (await readProfile(home, profile)).read;
}

/** The same, of a profile that was read already, and the Secret that it was made of. */
export async function readProfile(
  home: Cluster,
  profile: ClusterProfile,
): Promise<Readonly<{ read: AccessReading; secret?: V1Secret | undefined }>> {
  const way = wayOf(profile);
  if ("problem" in way) return { read: { ok: false, why: sentence(way.problem, way.detail) } };
  const { namespace = "", name = "" } = profile.metadata;
  const secret = await home.get<V1Secret>(`${secretsIn(namespace)}/${way.secret}`);
  return { read: accessBy(way, secret, name), secret };
}

function accessBy(way: AccessWay, secret: V1Secret | undefined, name: string): AccessReading {
  const value = secret?.data?.[way.key];
  if (value === undefined)
    return { ok: false, why: sentence("noCredential", `${way.secret}, ${way.key}`), absent: true };
  const made = JSON.stringify([way.cluster, value]);
  const bytes = Buffer.from(value, "base64");
  if (way.holds === "token")
    return reading(parseKubeconfig(configOf(way.cluster, { token: bytes.toString() }), name), made);
  const place = parseKubeconfig(configOf(way.cluster, { token: "none" }), name);
  const proof = readKubeconfig(bytes, way.secret, way.context);
  if (!place.ok || !proof.ok) return reading(place.ok ? proof : place, made);
  return { ok: true, access: new Access(place.access, proof.access.proof), made };
}

/** A kubeconfig of one cluster and one user, to be judged as any other. */
const configOf = (cluster: object, user: object) => ({
  clusters: [{ name: "profile", cluster }],
  users: [{ name: "profile", user }],
  contexts: [{ name: "profile", context: { cluster: "profile", user: "profile" } }],
  "current-context": "profile",
});

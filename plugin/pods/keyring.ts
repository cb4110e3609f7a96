/**
 * Orders the credentials in a pod's imagePullSecrets like the kubelet. We follow the kubelet's
 * functions MakeDockerKeyring (package credentialprovider/secrets) and UnionDockerKeyring. All
 * Secrets together are one keyring. The kubelet searches this keyring first, then the node's
 * config.json, then the credential providers. The kubelet tries the credentials for the image one
 * after the other, until a pull succeeds. Pure.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { readAsKubelet, type KubeletEntry } from "#pullsecret/kubelet/kubelet.ts";
import { inOrder, match } from "#pullsecret/kubelet/match.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import { formatProblem, problem } from "#pullsecret/problems/problems.ts";
import { shownUser } from "#pullsecret/problems/token.ts";

/**
 * `missing` and `ignored`: the kubelet continues without the Secret. `broken`: the kubelet pulls no
 * image of the pod. `notRead`: the caller has no right to get the Secret.
 */
type SecretState = "read" | "missing" | "ignored" | "broken" | "notRead";

export type PullSecretState = Readonly<{ name: string; state: SecretState; why?: string }>;

export type ReadSecret = PullSecretState & Readonly<{ entries: readonly KubeletEntry[] }>;

/** Reads one Secret like the kubelet. `secret` is undefined if the Secret does not exist. */
export function readSecret(name: string, secret: V1Secret | undefined): ReadSecret {
  const none = { name, entries: [] };
  if (secret === undefined) return { ...none, state: "missing" };
  const { type = "", data = {} } = secret;
  const [, json] =
    documents.find(([documentType, key]) => type === documentType && data[key]) ?? [];
  if (json === undefined)
    return { ...none, state: "ignored", why: `type ${type || "Opaque"} without a pull secret` };
  const text = Buffer.from(data[json] ?? "", "base64").toString("utf8");
  const bytes = Buffer.from(json === ".dockercfg" ? `{"auths":${text}}` : text);
  const file = readAsKubelet(bytes);
  if (file.ok) return { name, state: "read", entries: file.entries };
  const why = formatProblem(problem(file.kind, `secret/${name}`, file.path));
  return { ...none, state: "broken", why };
}

/** The types of Secrets that the kubelet reads, and the key of each type. */
const documents = [
  ["kubernetes.io/dockerconfigjson", ".dockerconfigjson"],
  ["kubernetes.io/dockercfg", ".dockercfg"],
] as const;

/**
 * A credential that the kubelet tries: its registry and its source, without the credential itself.
 * `order` is its position. At each pull, the kubelet tries entries with the same position in a
 * random order.
 */
export type Try = Readonly<{ from: string; registry: string; supplier: string; order: number }>;

/**
 * The Secrets' entries for a repository, in the kubelet's order. The entry with the longest path
 * comes first, whatever Secret it is in. If several Secrets have an entry for one registry, these
 * entries are in the order in which the pod names the Secrets. If one Secret has a registry in
 * several spellings, their order is random, because the kubelet reads each Secret into a map.
 */
export function secretTries(secrets: readonly ReadSecret[], repository: string): Try[] {
  const all = secrets.flatMap(({ name, entries }, place) =>
    entries.map((entry) => ({ ...entry, name, place })),
  );
  const groups = match(all, repository).tries.flatMap((group) =>
    secrets.map((_, place) => group.filter((entry) => entry.place === place)),
  );
  return inOrder(groups).map(({ key, name, username, password, order }) => ({
    from: `secret/${name}`,
    registry: redactKey(key),
    supplier: shownUser(username.toString("utf8"), password.toString("utf8")),
    order,
  }));
}

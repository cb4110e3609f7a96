/** Checks the content before any cluster gets it. Pure. */
import { Buffer } from "node:buffer";
import type { KubernetesObject, V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import { fleetManagedBy, fleetOwnerAnnotation, secretKeys, secretType } from "#contract/names.ts";
import { contentDigest, type Data, type Declared } from "#kube/apply/copy.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { sentence } from "./problems.ts";

export type Content = Readonly<{
  type: string;
  data: Data;
  /**
   * Identifies type and data. We keep it instead of the content for each cluster, in memory only,
   * because the digest of a Secret must not leave the process.
   */
  digest: string;
}>;

export const contentOf = (type: string, data: Data): Content => ({
  type,
  data,
  digest: contentDigest(type, data),
});

export type Judged =
  | Readonly<{ ok: true; content: Content; version: string }>
  | Readonly<{
      ok: false;
      reason: "SourceMissing" | "SourceRefused" | "SourceUnreadable";
      message: string;
    }>;

/**
 * Types of Secrets that give access to the cluster in which they were created. A copy is useless in
 * another cluster, and would let that cluster access the first cluster.
 */
const openOneCluster: ReadonlySet<string> = new Set([
  "bootstrap.kubernetes.io/token",
  "kubernetes.io/service-account-token",
]);

/**
 * The source's content, or why we place it in no cluster. A pull secret must be valid for every
 * kubelet. We do not check the data of other types.
 */
export function sourceContent(secret: V1Secret | undefined, name: string): Judged {
  if (secret === undefined)
    return { ok: false, reason: "SourceMissing", message: sentence("sourceMissing", name) };
  const { type = "Opaque", data = {} } = secret;
  const refused = (message: string) => ({
    ok: false as const,
    reason: "SourceRefused" as const,
    message,
  });
  if (openOneCluster.has(type)) return refused(sentence("sourceType", type));
  if (type === secretType) {
    const bytes = Buffer.from(data[secretKeys.document] ?? "", "base64");
    const parsed = parse(bytes, { name, role: "additional" });
    const [first] = parsed.ok ? [] : parsed.problems;
    if (first !== undefined)
      return refused(sentence("sourceInvalid", `${first.code} ${formatProblem(first)}`));
    // A tool that emptied it might restore it soon. As with a deleted one, nothing is removed.
    if (parsed.ok && parsed.entries.length === 0)
      return { ok: false, reason: "SourceMissing", message: sentence("sourceMissing", name) };
  }
  return {
    ok: true,
    content: contentOf(type, data),
    version: secret.metadata?.resourceVersion ?? "",
  };
}

/**
 * The id of a FleetSecret as an owner. It contains the object's name and not its uid, so an object
 * that is deleted and created again owns the same Secrets.
 */
export const ownerOf = (clusterId: string, { namespace, name }: V1ObjectMeta): string =>
  `${clusterId}/${namespace}/${name}`;

/**
 * The owner's id, from the annotation of a placed object. Undefined if no FleetSecret placed the
 * object.
 */
export const ownerMark = ({ metadata }: KubernetesObject): string | undefined =>
  metadata?.annotations?.[fleetOwnerAnnotation];

export const isPlacedBy = (object: KubernetesObject, owner: string): boolean =>
  ownerMark(object) === owner;

/** Labels and annotations of placed objects. */
export const marked = (owner: string) => ({
  labels: fleetManagedBy,
  annotations: { [fleetOwnerAnnotation]: owner },
});

/** The Secret in the form in which it is placed. */
export function placed(
  { type, data }: Pick<Content, "type" | "data">,
  owner: string,
  where: Readonly<{ namespace: string; name: string }>,
): Declared & Readonly<{ data: Data }> {
  const metadata = { ...where, ...marked(owner) };
  return { apiVersion: "v1", kind: "Secret", metadata, type, data };
}

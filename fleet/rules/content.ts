/** The content that is brought to the clusters, judged before the first of them sees it. Pure. */
import { Buffer } from "node:buffer";
import type { KubernetesObject, V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import { fleetOwnerAnnotation, secretKeys, secretType } from "#contract/names.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { sentence } from "./problems.ts";

export type Content = Readonly<{ type: string; data: Readonly<Record<string, string>> }>;

export type Judged =
  | Readonly<{ ok: true; content: Content; version: string }>
  | Readonly<{
      ok: false;
      reason: "SourceMissing" | "SourceRefused" | "SourceUnreadable";
      message: string;
    }>;

/**
 * Types that open the cluster they were made in. A copy in another cluster opens nothing there, and
 * gives this cluster away.
 */
const openOneCluster: ReadonlySet<string> = new Set([
  "bootstrap.kubernetes.io/token",
  "kubernetes.io/service-account-token",
]);

/**
 * The content of the source as it is, or why no cluster may have it. A pull secret must be one that
 * no kubelet drops. Other types are not judged, because nothing is known of them.
 */
export function judge(secret: V1Secret | undefined, name: string): Judged {
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
  }
  return { ok: true, content: { type, data }, version: secret.metadata?.resourceVersion ?? "" };
}

/** True when a Secret has exactly this content, and no other key. */
export function has(secret: V1Secret, content: Content): boolean {
  const { type = "Opaque" } = secret;
  // A guest may answer anything.
  const data = secret.data ?? {};
  const names = Object.keys(content.data);
  return (
    type === content.type &&
    names.length === Object.keys(data).length &&
    names.every((name) => Object.hasOwn(data, name) && data[name] === content.data[name])
  );
}

const managedBy = { "app.kubernetes.io/managed-by": "global-pull-secret-fleet" };

/**
 * The owner's id. It goes by name, so that an object that is created again knows what its
 * predecessor placed.
 */
export const ownerOf = (clusterId: string, { namespace, name }: V1ObjectMeta): string =>
  `${clusterId}/${namespace}/${name}`;

/** The owner's id on an object; undefined where no FleetSecret placed it. */
export const ownerMark = ({ metadata }: KubernetesObject): string | undefined =>
  metadata?.annotations?.[fleetOwnerAnnotation];

export const isPlacedBy = (object: KubernetesObject, owner: string): boolean =>
  ownerMark(object) === owner;

/** Labels and annotations of what is placed. */
export const marked = (owner: string) => ({
  labels: managedBy,
  annotations: { [fleetOwnerAnnotation]: owner },
});

/** The Secret as it is placed. */
export function placed(
  { type, data }: Content,
  owner: string,
  where: Readonly<{ namespace: string; name: string }>,
) {
  const metadata = { ...where, ...marked(owner) };
  return { apiVersion: "v1", kind: "Secret", metadata, type, data };
}

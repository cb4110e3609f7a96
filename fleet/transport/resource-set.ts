/**
 * `via: ClusterResourceSet`: places a Secret with the manifest, and a ClusterResourceSet that names
 * this Secret, both in the Cluster's namespace. Cluster API's controller then applies the manifest
 * in the cluster. Pure.
 */
import { Buffer } from "node:buffer";
import type { KubernetesObject } from "@kubernetes/client-node";
import type { ClusterAPISource } from "#api/fleet-secret.ts";
import { fieldsOf, itemsOf } from "#contract/fields.ts";
import { digestOf, inOrder } from "#kube/apply/copy.ts";
import { clusterResourceSetsIn } from "#kube/client/paths.ts";
import { contentOf, marked, placed, type Content } from "../rules/content.ts";
import { sentence } from "../rules/problems.ts";
import { reasonOf, type Proof } from "./proof.ts";
import { secretAt, type NamespacedName, type Placement, type Transport } from "./transport.ts";

/**
 * Name of both objects: `crs-NAME` if the target is in kube-system and its name has no dot,
 * otherwise `crs-NAMESPACE.NAME`. No two targets share such a name.
 */
const nameFor = (target: NamespacedName): string =>
  target.namespace === "kube-system" && !target.name.includes(".")
    ? `crs-${target.name}`
    : `crs-${target.namespace}.${target.name}`;

/** The only type of Secret that a ClusterResourceSet accepts. */
const type = "addons.cluster.x-k8s.io/resource-set";
/** Label with the Cluster's name. Cluster API's tools set this label on every Cluster. */
const nameLabel = "cluster.x-k8s.io/cluster-name";

/** Which Clusters of a namespace are selected. */
type Delegation = Pick<ClusterAPISource, "clusterNameLabelValue" | "clusterSelector">;

/** The transport for the Clusters of `namespace`. `target` is the Secret inside these clusters. */
export function resourceSet(
  namespace: string,
  target: NamespacedName,
  how: Delegation = {},
): Transport {
  const { clusterNameLabelValue = "Namespace", clusterSelector = {} } = how;
  const name = nameFor(target);
  const where = { namespace, name };
  const { matchLabels, matchExpressions = [] } = clusterSelector;
  const named = clusterNameLabelValue === "Namespace";
  const labels = { ...matchLabels, ...(named ? { [nameLabel]: namespace } : {}) };
  const expressions = [
    ...matchExpressions,
    ...(named ? [] : [{ key: nameLabel, operator: "Exists" }]),
  ];
  const spec = {
    clusterSelector: {
      ...(Object.keys(labels).length === 0 ? {} : { matchLabels: labels }),
      ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
    },
    resources: [{ kind: "Secret", name }],
    strategy: "Reconcile",
  };
  return {
    placed: [
      secretAt(where, (content, owner) => manifestOf(content, owner, target)),
      clusterResourceSet(where, spec),
    ],
    proof: ([, set]) => proofOf(set),
  };
}

/**
 * The Secret with the manifest, in JSON, which is valid YAML. The same content gives the same text.
 */
function manifestOf(content: Content, owner: string, target: NamespacedName): Content {
  const text = JSON.stringify(placed(content, owner, target), inOrder);
  return contentOf(type, { "manifests.yaml": Buffer.from(text).toString("base64") });
}

function clusterResourceSet(where: NamespacedName, spec: object): Placement {
  return {
    target: {
      collection: clusterResourceSetsIn(where.namespace),
      name: where.name,
      keep(object) {
        const live = fieldsOf(fieldsOf(object)["spec"]);
        const ours = Object.keys(spec).map((name) => [name, live[name]]);
        return { ...object, digest: digestOf(Object.fromEntries(ours)) };
      },
    },
    desired: (_, owner) => ({
      body: {
        apiVersion: "addons.cluster.x-k8s.io/v1beta2",
        kind: "ClusterResourceSet",
        metadata: { ...where, ...marked(owner) },
        spec,
      },
      digest: digestOf(spec),
    }),
  };
}

/**
 * What Cluster API reports about its last apply. The report does not show which content was
 * applied.
 */
function proofOf(set: KubernetesObject | undefined): Proof {
  const { conditions } = fieldsOf(fieldsOf(set)["status"]);
  const applied = itemsOf(conditions).find(({ type }) => type === "ResourcesApplied");
  if (applied?.["status"] === "True") return { is: "unasked" };
  return { is: "awaited", why: sentence("awaited", reasonOf(applied?.["reason"])) };
}

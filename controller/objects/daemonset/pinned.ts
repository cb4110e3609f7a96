/**
 * Nodes that were away when everybody else gave our entries back. The DaemonSet is kept, pinned to
 * exactly these, until they return and give them back too, or are deleted. Its template says which
 * they are, so that no controller can forget it.
 */
import type { V1Affinity, V1DaemonSet } from "@kubernetes/client-node";
import { annotations } from "#kube/client/ownership.ts";

/** `since`: when the first of them was waited for, ISO 8601. */
export type Pinned = Readonly<{ names: readonly string[]; since: string }>;

/**
 * By a node's name, not by its hostname label, which may be another. A field takes one value per
 * term; 10,000 terms are 1.1 MB, under the API server's limit for an object, and the DaemonSet
 * controller puts its own single term in their place in each pod.
 */
export function affinityTo({ names }: Pinned): V1Affinity {
  const nodeSelectorTerms = names.map((name) => ({
    matchFields: [{ key: "metadata.name", operator: "In", values: [name] }],
  }));
  return {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  };
}

export function pinnedOf(live: V1DaemonSet | undefined): Pinned | undefined {
  const affinity = live?.spec?.template.spec?.affinity?.nodeAffinity;
  const terms = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const since = live?.metadata?.annotations?.[annotations.awaitedSince];
  if (terms === undefined || since === undefined) return undefined;
  return {
    names: terms.flatMap(({ matchFields = [] }) =>
      matchFields.flatMap(({ values = [] }) => values),
    ),
    since,
  };
}

/** Only these nodes, where the DaemonSet is pinned. */
export function amongPinned<Node extends { name: string }>(
  nodes: readonly Node[],
  pinned: Pinned | undefined,
): readonly Node[] {
  if (pinned === undefined) return nodes;
  const names = new Set(pinned.names);
  return nodes.filter(({ name }) => names.has(name));
}

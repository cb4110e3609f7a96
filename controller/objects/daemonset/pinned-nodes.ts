/**
 * Nodes that were away when all others gave our entries back. The DaemonSet is kept, pinned to
 * exactly these nodes, until they return and give back too, or are deleted. Its template names
 * them, so that no controller can forget them.
 */
import type { V1Affinity, V1DaemonSet } from "@kubernetes/client-node";
import { annotations } from "./annotation-names.ts";

/** `since`: when we began to wait for the first of them, ISO 8601. */
export type Pinned = Readonly<{ names: readonly string[]; since: string }>;

/**
 * The affinity to these nodes. It goes by the node's name, because the hostname label may differ. A
 * field takes one value a term: 10,000 terms are 1.1 MB, under the API server's limit for an
 * object. In each pod the DaemonSet controller replaces them by its own single term.
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

/** These nodes only, where the DaemonSet is pinned; else all. */
export function amongPinned<Node extends { name: string }>(
  nodes: readonly Node[],
  pinned: Pinned | undefined,
): readonly Node[] {
  if (pinned === undefined) return nodes;
  const names = new Set(pinned.names);
  return nodes.filter(({ name }) => names.has(name));
}

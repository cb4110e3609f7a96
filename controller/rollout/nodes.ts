/** Reads only the Nodes that a decision needs, reduced to names, uids and ages. */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { NodesToRead, NodeFacts, NodesRead } from "./facts.ts";
import { type Agent, nodesOf } from "#controller/objects/agent.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";

export const noNodes: NodesRead = { byName: new Map(), all: false };

/** True if the decision needs Nodes that were not read. */
export const lacksNodes = ({ byName, all }: NodesRead, reads: NodesToRead): boolean =>
  !all && (reads.all || [...reads.nodes].some((name) => !byName.has(name)));

/**
 * Seconds between two lists of all Nodes in a withdrawal: while the numbers in `Listed` change, and
 * while they stay the same.
 */
const pauses = { changing: 60, same: 600 } as const;

/**
 * The numbers that decide when to list Nodes again: how many nodes have confirmed the withdrawal,
 * and how many pods are missing.
 */
type Listed = Readonly<{ confirmed: number; missing: number }>;

/**
 * Decides when the controller lists all Nodes to find out whether a withdrawal is complete: at once
 * if more nodes have confirmed the withdrawal since the last list, otherwise after a pause. Without
 * the pause, one Node without a pod would cost a list at each change of any pod.
 */
export class NodeListTimer {
  #last: (Listed & Readonly<{ at: number; isSame: boolean }>) | undefined;

  /** Seconds until the next list. 0: now. `now` is from a clock that never goes back. */
  waits(now: number, { confirmed, missing }: Listed): number {
    const last = this.#last;
    if (last === undefined || confirmed > last.confirmed) return 0;
    const isSame = last.isSame && missing === last.missing;
    return Math.max(0, last.at + (isSame ? pauses.same : pauses.changing) - now);
  }

  listed(at: number, { confirmed, missing }: Listed): void {
    const isSame = this.#last?.confirmed === confirmed && this.#last.missing === missing;
    this.#last = { at, confirmed, missing, isSame };
  }

  /** Called while no withdrawal is under way, so that the next withdrawal lists Nodes at once. */
  forget(): void {
    this.#last = undefined;
  }
}

/** If more Nodes than this must be read, one list costs less than single reads. */
const mostSingle = 50;

/**
 * Reads these Nodes. In the result, a Node that does not exist, or that the DaemonSet does not
 * serve, has the value undefined. `all` means all Nodes that the DaemonSet serves.
 */
export async function readNodes(
  cluster: Cluster,
  agent: Agent,
  { nodes, all }: NodesToRead,
): Promise<NodesRead> {
  const byName = new Map<string, NodeFacts | undefined>();
  const take = (items: readonly KubernetesObject[]): void => {
    for (const { metadata } of items)
      byName.set(metadata?.name ?? "", {
        uid: metadata?.uid ?? "",
        created: Date.parse(String(metadata?.creationTimestamp ?? "")) / 1000,
      });
  };
  const isList = all || nodes.size > mostSingle;
  const labelSelector = nodesOf(agent);
  const queries = isList
    ? [{ labelSelector }]
    : [...nodes].map((name) => ({ labelSelector, fieldSelector: `metadata.name=${name}` }));
  // Lists one Node instead of getting it, because a get needs an additional right.
  for (const query of queries) {
    await cluster.pages<KubernetesObject>(collections.nodes, query, take, { as: "metadata" });
  }
  if (!isList) for (const name of nodes) if (!byName.has(name)) byName.set(name, undefined);
  return { byName, all: isList };
}

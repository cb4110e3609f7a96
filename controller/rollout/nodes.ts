/** Reads Nodes, reduced to their names, uids and ages, and only those that a decision asks for. */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { NodesToRead, NodeFacts, NodesRead } from "./facts.ts";
import { type Agent, nodesOf } from "#controller/objects/agent.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";

/** Nothing was read. */
export const noNodes: NodesRead = { byName: new Map(), all: false };

/** True if a decision asks for Nodes that were not read. */
export const lacksNodes = ({ byName, all }: NodesRead, reads: NodesToRead): boolean =>
  !all && (reads.all || [...reads.nodes].some((name) => !byName.has(name)));

/** Seconds between two lists of all Nodes in a withdrawal, while something changes and later. */
const pauses = { changing: 60, same: 600 } as const;

/**
 * When a list of Nodes may show something else: how many nodes have confirmed the withdrawal, and
 * how many pods are missing.
 */
type Listed = Readonly<{ confirmed: number; missing: number }>;

/**
 * When a withdrawal may list all Nodes to see whether it is complete: at once when more nodes have
 * confirmed it than at the last list, otherwise after a pause. Without it a Node without a pod
 * would cost a list at each change of any pod, for as long as it is waited for.
 */
export class NodeListTimer {
  #last: (Listed & Readonly<{ at: number; isSame: boolean }>) | undefined;

  /** Seconds until the next list; 0: now. `now`: of a clock that never goes back. */
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

  /** No withdrawal is under way: the next one has its own lists, whatever its number. */
  forget(): void {
    this.#last = undefined;
  }
}

/** From so many names on, one list costs less than the single reads. */
const mostSingle = 50;

/**
 * Reads these Nodes. One that does not exist is in the answer without facts. All of them are those
 * that the DaemonSet serves.
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
  const queries = isList
    ? [{ labelSelector: nodesOf(agent) }]
    : [...nodes].map((name) => ({ fieldSelector: `metadata.name=${name}` }));
  // A right to get Nodes would be one more: a list of one does as well.
  for (const query of queries) {
    await cluster.pages<KubernetesObject>(collections.nodes, query, take, { as: "metadata" });
  }
  if (!isList) for (const name of nodes) if (!byName.has(name)) byName.set(name, undefined);
  return { byName, all: isList };
}

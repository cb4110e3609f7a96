/**
 * Whether agents' pods may mount the nodes' root directory. It is mounted recursively read-only or
 * not at all: without that, what is mounted below it, such as /proc and /run, would be writable. A
 * pod that demands it does not start on a node whose container runtime cannot do it, so all of the
 * nodes that are served must report that theirs can.
 */
import type { V1Node } from "@kubernetes/client-node";
import { type Agent, nodesOf } from "#controller/objects/agent.ts";
import { mountsRoot } from "#controller/objects/container.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import type { AgentPod } from "./pods.ts";

/** What the kubelet calls the state of a container that demands what its runtime cannot do. */
const notMade = "CreateContainerConfigError";

/** Seconds between two lists of Nodes while pods do not start. */
const pauseSeconds = 60;

type Looked = Readonly<{
  cluster: Cluster;
  agent: Agent;
  pods: Iterable<AgentPod>;
  /** Seconds of a clock that never goes back. */
  steady: number;
}>;

/** What a process has found out, from the moment when it leads. */
export class RootMounts {
  #lacking: readonly string[] | undefined;
  #looked = Number.NEGATIVE_INFINITY;

  /**
   * Names of nodes that cannot mount it so; empty if all can. Nodes are listed once, unless pods
   * that mount it show already that they can, and again when a pod does not start. A node that was
   * found to lack it counts until another process leads: templates must not change to and fro with
   * nodes that come and go.
   */
  async lacking(
    { daemonSet }: Pick<Snapshot, "daemonSet">,
    { cluster, agent, pods, steady }: Looked,
  ): Promise<readonly string[]> {
    if (agent.hiddenFiles === "Ignore") return [];
    const isShown = mountsRoot(daemonSet?.spec?.template.spec);
    const isNew = this.#lacking === undefined && !isShown;
    if (!isNew && (this.#lacking?.length ?? 0) > 0) return this.#lacking ?? [];
    if (!isNew && !this.#mustLook(pods, steady)) return [];
    this.#looked = steady;
    this.#lacking = await nodesWithout(cluster, agent);
    return this.#lacking;
  }

  #mustLook(pods: Iterable<AgentPod>, steady: number): boolean {
    if (steady - this.#looked < pauseSeconds) return false;
    return [...pods].some(({ waitingReason }) => waitingReason === notMade);
  }
}

/** Names of the served nodes whose runtime does not report it. */
async function nodesWithout(cluster: Cluster, agent: Agent): Promise<readonly string[]> {
  const names: string[] = [];
  const query = { labelSelector: nodesOf(agent) };
  await cluster.pages<V1Node>(collections.nodes, query, (nodes) => {
    for (const node of nodes) if (!mountsReadOnly(node)) names.push(node.metadata?.name ?? "");
  });
  return names;
}

/** The handler without a name is the one of pods without a RuntimeClass. */
function mountsReadOnly({ status }: V1Node): boolean {
  const handler = status?.runtimeHandlers?.find(({ name = "" }) => name === "");
  return handler?.features?.recursiveReadOnlyMounts === true;
}

/**
 * Decides whether agents' pods are allowed to mount the nodes' root directory. Without the option
 * `recursiveReadOnly`, mounts below the root directory, such as /proc and /run, would be writable.
 * A pod with this option does not start on a node whose container runtime does not support the
 * option. So all served nodes must report support.
 */
import type { V1Node } from "@kubernetes/client-node";
import { type Agent, nodesOf } from "#controller/objects/agent.ts";
import { mountsRoot } from "#controller/objects/container.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import type { AgentPod } from "./pods.ts";
import { Repairs } from "./write.ts";

/** The kubelet's waiting reason if a container needs a feature that the container runtime lacks. */
const notMade = "CreateContainerConfigError";

/** Seconds between two lists of Nodes while pods do not start. */
const stuckSeconds = 60;

/**
 * After `seconds`, the controller reads again at most `most` Nodes that have not reported yet.
 * While none of them reports, the pause doubles up to `longest` seconds, because Nodes can stay
 * down for weeks.
 */
const undecided = { seconds: 30, longest: 600, most: 50 } as const;

type Looked = Readonly<{
  cluster: Cluster;
  agent: Agent;
  pods: Iterable<AgentPod>;
  /** Seconds of a clock that never goes back. */
  steady: number;
  /** True while everything is being withdrawn. */
  isRemoval: boolean;
}>;

export type RootMount = Readonly<{
  /** No agent searches for hidden files. */
  skips: boolean;
  /**
   * The nodes without support, which prevent the mount of the root directory. Empty if they are not
   * known yet.
   */
  names: readonly string[];
  /** Seconds until the passing of time alone can change the result. */
  again: number;
}>;

const never = Number.POSITIVE_INFINITY;
const searches: RootMount = { skips: false, names: [], again: never };

/**
 * `can`: some Node reports support. `cannot`: names of Nodes without support. `unknown`: names of
 * Nodes that have not reported yet.
 */
type Answers = Readonly<{ can: boolean; cannot: readonly string[]; unknown: ReadonlySet<string> }>;

/** What this process has found since it got the Lease. */
export class RootMounts {
  #answers: Answers | undefined;
  #looked = Number.NEGATIVE_INFINITY;
  #pause: number = undecided.seconds;
  readonly #reads = new Repairs();

  /**
   * Whether agents are allowed to mount the root directory. We list Nodes once, unless running pods
   * with the mount already show support. We list Nodes again when a pod does not start. A node
   * without support prevents the mount until another process gets the Lease, even if the node is
   * gone. So the template does not change back and forth while nodes come and go. A node that has
   * not reported yet is read again. Such a node prevents the mount only if no node has reported
   * support. If Nodes cannot be read, the live template stays as it is. A removal reads no Nodes,
   * because it needs no search.
   */
  async find({ daemonSet }: Pick<Snapshot, "daemonSet">, looked: Looked): Promise<RootMount> {
    const { agent, pods, steady, isRemoval } = looked;
    if (agent.hiddenFiles === "Ignore") return searches;
    const isShown = daemonSet && mountsRoot(daemonSet.spec?.template.spec);
    const isStuck = [...pods].some(({ waitingReason }) => waitingReason === notMade);
    if (isRemoval) return { ...searches, skips: isStuck || isShown !== true };
    await this.#look(looked, isShown === true, isStuck);
    const again = this.#again(steady);
    const { can, cannot, unknown } = this.#answers ?? { can: false, cannot: [], unknown: none };
    if (cannot.length > 0) return { skips: true, names: cannot, again };
    if (this.#answers !== undefined && (can || unknown.size === 0)) return { ...searches, again };
    // The first template waits for a list of Nodes, but not for nodes that might never report.
    const { failure } = this.#reads;
    if (isShown === undefined && failure !== undefined) throw failure;
    return { skips: isShown !== true, names: [...unknown], again };
  }

  /**
   * Lists all Nodes if nothing is known about them, or if a pod does not start. In all other cases,
   * only reads again the nodes that have not reported, after a pause.
   */
  async #look(
    { cluster, agent, steady }: Looked,
    isShown: boolean,
    isStuck: boolean,
  ): Promise<void> {
    const known = this.#answers;
    if (known !== undefined && known.cannot.length > 0) return;
    const passed = steady - this.#looked;
    const mustList = isStuck && passed >= stuckSeconds;
    const isFirst = known === undefined && !isShown;
    const isOpen = known !== undefined && known.unknown.size > 0;
    if (!mustList && !isFirst && !(isOpen && passed >= this.#pause)) return;
    const labelSelector = nodesOf(agent);
    const all = [{ labelSelector }];
    const some = [...(known?.unknown ?? [])].slice(0, undecided.most);
    const queries =
      mustList || isFirst
        ? all
        : some.map((name) => ({ labelSelector, fieldSelector: `metadata.name=${name}` }));
    const found = await this.#reads.attempt("nodes", steady, () => answersOf(cluster, queries));
    if (found === undefined) return;
    this.#looked = steady;
    const isSame = queries !== all && known?.can === true && found.unknown.size === some.length;
    this.#pause = isSame ? Math.min(2 * this.#pause, undecided.longest) : undecided.seconds;
    if (queries === all || known === undefined) this.#answers = found;
    else
      this.#answers = {
        can: known.can || found.can,
        cannot: found.cannot,
        unknown: new Set([...[...known.unknown].slice(undecided.most), ...found.unknown]),
      };
  }

  #again(steady: number): number {
    const { cannot, unknown } = this.#answers ?? { cannot: [], unknown: none };
    const isOpen = cannot.length === 0 && unknown.size > 0;
    const left = isOpen ? Math.max(0, this.#looked + this.#pause - steady) : never;
    return Math.min(left, this.#reads.again(steady));
  }
}

const none: ReadonlySet<string> = new Set();

/**
 * The Nodes' reports about the runtime handler without a name, which runs pods without a
 * RuntimeClass. While the container runtime does not answer, the kubelet reports no handlers, and
 * the node is not Ready. A kubelet before 1.31 never reports handlers.
 */
async function answersOf(
  cluster: Cluster,
  queries: readonly Readonly<Record<string, string>>[],
): Promise<Answers> {
  let can = false;
  const [cannot, unknown]: [string[], Set<string>] = [[], new Set()];
  // The handlers are in the status, so this reads whole Nodes. No page stays in memory.
  for (const query of queries)
    await cluster.pages<V1Node>(collections.nodes, query, (nodes) => {
      for (const { metadata: { name = "" } = {}, status } of nodes) {
        const { runtimeHandlers = [], conditions = [] } = status ?? {};
        const handler = runtimeHandlers.find((one) => (one.name ?? "") === "");
        const isReady = conditions.some((one) => one.type === "Ready" && one.status === "True");
        if (handler?.features?.recursiveReadOnlyMounts === true) can = true;
        else if (isReady || runtimeHandlers.length > 0) cannot.push(name);
        else unknown.add(name);
      }
    });
  return { can, cannot, unknown };
}

/**
 * A model of nodes with their kubelets, and of the pods that run there. It only computes; it makes
 * no request. Its only clock is `now`, in seconds since 1970 or since a test's beginning. Each call
 * of `kubelet` advances a node by one step. A function plays the node's agent (agent.ts).
 */
import type { Order, Report } from "#contract/order.ts";

/** A condition of a pod or a node. `since`: its transition time, by the writer's clock. */
export type Condition = Readonly<{ is: boolean; since: number }>;

type Container = Readonly<{
  /** Undefined while the container does not run. */
  startedAt: number | undefined;
  /** The time at which the kubelet starts the container again. */
  startsAt: number;
  restarts: number;
  /** The reason that the kubelet reports for not starting the container. */
  waits?: string;
}>;

/**
 * A pod's status. Each change makes a new object, so that you can compare two states by identity.
 */
export type PodState = Readonly<{
  container: Container;
  /** The condition ContainersReady: true while the container runs, because it has no probe. */
  containersReady: Condition;
  /** Equal to `containersReady`, unless the node controller has set it to false. */
  ready: Condition;
}>;

export type Texts = Readonly<Record<string, string>>;

export type ModelPod = {
  readonly uid: string;
  readonly created: number;
  /** The hash of the template from which the pod was made. */
  readonly hash: string;
  /** When a client deleted the pod. */
  deletedAt: number | undefined;
  state: PodState;
};

/** A content of the Secret. `document` is undefined if the content has no entry. */
export type Content = Readonly<{
  revision: number;
  digest: string;
  document: string | undefined;
  intent: string;
}>;

/** The agent's record on its node. */
type Journal = Readonly<{
  /** 0: no revision is in force. */
  revision: number;
  digest: string;
  /** What of ours is in force. The agent restores it if another program changes the file. */
  document: string | undefined;
  /** The content for which the kubelet was restarted, and the order that asked for it. */
  begun?: Content & Readonly<{ attempt: number }>;
  /** True if nothing of ours remains on the node. The journal then ends with the pod. */
  released?: boolean;
}>;

/**
 * The behaviour of an agent, in the order of the values: it does what it is asked; it does nothing,
 * like a stopped process; the kubelet does not start it; it ends ten seconds after each start; it
 * reports that the node is unfit; it restarts a kubelet that does not start again; or it reports
 * that the content failed, with this code and message.
 */
export type Behaviour =
  | "ready"
  | "hangs"
  | "never starts"
  | "crashes"
  | "refuses"
  | "breaks"
  | (string & {});

export type ModelNode = {
  readonly name: string;
  /** The node's own condition Ready: false while its kubelet does not report. */
  ready: Condition;
  /** The machine does not run, but the node controller has not noticed it. */
  isSilent: boolean;
  /** Oldest first. */
  pods: ModelPod[];
  kubelet: "up" | "restarting" | "down";
  /** The document in force. */
  applied: string | undefined;
  journal: Journal | undefined;
  /** Documents for which the node's kubelet was restarted. */
  restarts: string[];
  /** The node's order, as its agent has last read it. */
  order: Order | undefined;
  /** The agent's newest report. */
  report: Report | undefined;
  /** The behaviour of this node's agents, if it differs from that of the other nodes. */
  trouble: Behaviour | undefined;
};

/** An agent reads the Secret and its order, and changes the state of the node. */
export type Agent = (
  node: ModelNode,
  on: Readonly<{
    behaviour: Behaviour;
    secret: Texts;
    now: number;
    /** Called when the agent begins with this revision. */
    began: (revision: number) => void;
  }>,
) => void;

/**
 * A kubelet starts a container again 10, 20, 40 s … 300 s after its end (kuberuntime, doBackOff).
 */
const backOff = { first: 10, longest: 300 };
/** Seconds after which a container of an agent that crashes ends. */
const crashSeconds = 10;
/** Seconds that a kubelet needs to end a pod. */
const endSeconds = 1;

export class NodesModel {
  now = 0;
  nodes: ModelNode[] = [];
  /** The Secret that agents watch, decoded. */
  secret: Texts = {};
  behaviour: (node: ModelNode, pod: ModelPod) => Behaviour = ({ trouble }) => trouble ?? "ready";
  /** Called when an agent begins with a revision. */
  began: (node: ModelNode, revision: number) => void = () => {};
  readonly #agent: Agent;
  #names = 0;
  #pods = 0;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  join(name = `n${this.#names++}`): ModelNode {
    const node: ModelNode = {
      name,
      ready: { is: true, since: this.now },
      isSilent: false,
      pods: [],
      kubelet: "up",
      applied: undefined,
      journal: undefined,
      restarts: [],
      order: undefined,
      report: undefined,
      trouble: undefined,
    };
    this.nodes.push(node);
    return node;
  }

  /** Removes the node with everything on it. A later node of the same name starts empty. */
  leave(name: string): void {
    this.nodes = this.nodes.filter((node) => node.name !== name);
  }

  /** Adds a pod that was created for the node. */
  place(
    node: ModelNode,
    { hash, created = this.now, uid = `pod-${++this.#pods}` }: NewPod,
  ): ModelPod {
    const never = { is: false, since: created };
    const container = { startedAt: undefined, startsAt: 0, restarts: 0 };
    const state = { container, containersReady: never, ready: never };
    const pod = { uid, created, hash, deletedAt: undefined, state };
    node.pods.push(pod);
    return pod;
  }

  /** Silences the kubelet, and sets Ready to false, like the node controller. */
  die(node: ModelNode): void {
    if (!node.ready.is) return;
    node.ready = { is: false, since: this.now };
    for (const pod of node.pods)
      if (pod.state.ready.is) pod.state = { ...pod.state, ready: { is: false, since: this.now } };
  }

  /**
   * Lets the kubelet report again. It repeats its former report of the pods, with the old times.
   */
  revive(node: ModelNode): void {
    node.isSilent = false;
    if (node.ready.is) return;
    node.ready = { is: true, since: this.now };
    for (const pod of node.pods) pod.state = { ...pod.state, ready: pod.state.containersReady };
  }

  /** Another program replaces the node's file. */
  overwrite(node: ModelNode): void {
    node.applied = undefined;
  }

  tick(seconds = 1): void {
    this.now += seconds;
  }

  /** Plays the next step of the node's kubelet. Returns the pods that the kubelet has ended. */
  kubelet(node: ModelNode): ModelPod[] {
    if (!isRunning(node)) return [];
    const ended = node.pods.filter(
      ({ deletedAt = Number.POSITIVE_INFINITY }) => this.now - deletedAt >= endSeconds,
    );
    node.pods = node.pods.filter((pod) => !ended.includes(pod));
    // The next agent finds an empty node, and has nothing to report.
    if (ended.length > 0 && node.journal?.released === true)
      Object.assign(node, { journal: undefined, report: undefined });
    for (const pod of node.pods) if (pod.deletedAt === undefined) this.#run(node, pod);
    return ended;
  }

  #run(node: ModelNode, pod: ModelPod): void {
    const behaviour = this.behaviour(node, pod);
    if (node.kubelet === "restarting") node.kubelet = behaviour === "breaks" ? "down" : "up";
    if (!this.#keepStarted(pod, behaviour)) return;
    const { now, secret } = this;
    const began = (revision: number) => this.began(node, revision);
    this.#agent(node, { behaviour, secret, now, began });
  }

  /** Starts or ends the container. Returns whether it runs. */
  #keepStarted(pod: ModelPod, behaviour: Behaviour): boolean {
    const { now } = this;
    const { startedAt, startsAt, restarts, waits } = pod.state.container;
    if (startedAt !== undefined) {
      if (behaviour !== "crashes" || now - startedAt < crashSeconds) return true;
      const pause = Math.min(backOff.longest, backOff.first * 2 ** restarts);
      setReady(pod, false, now);
      setContainer(pod, {
        restarts: restarts + 1,
        startsAt: now + pause,
        waits: "CrashLoopBackOff",
      });
      return false;
    }
    if (startsAt > now) return false;
    if (behaviour === "never starts") {
      if (waits === undefined) setContainer(pod, { restarts, startsAt, waits: "ImagePullBackOff" });
      return false;
    }
    pod.state = { ...pod.state, container: { startedAt: now, startsAt, restarts } };
    setReady(pod, true, now);
    return true;
  }
}

/** True while the node's machine runs and reports. */
export const isRunning = ({ ready, isSilent }: ModelNode): boolean => ready.is && !isSilent;

/** Since when the pod's status reports Ready; undefined if it does not. */
export const readySince = ({ state: { ready } }: ModelPod): number | undefined =>
  ready.is ? ready.since : undefined;

type NewPod = Readonly<{ hash: string; uid?: string; created?: number }>;

/** Records a container that does not run. */
function setContainer(pod: ModelPod, container: Omit<Container, "startedAt">): void {
  pod.state = { ...pod.state, container: { startedAt: undefined, ...container } };
}

/** Sets both conditions like a kubelet: the transition time changes only with the condition. */
function setReady(pod: ModelPod, is: boolean, since: number): void {
  const { containersReady, ready } = pod.state;
  if (containersReady.is === is && ready.is === is) return;
  const next = containersReady.is === is ? containersReady : { is, since };
  pod.state = { ...pod.state, containersReady: next, ready: ready.is === is ? ready : next };
}

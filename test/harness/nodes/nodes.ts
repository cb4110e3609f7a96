/**
 * A model of nodes with their kubelets, and of the pods that run there. It only computes; it makes
 * no request. Its only clock is `now`, in seconds since 1970 or since a test's beginning. Each call
 * of `kubelet` advances a node by one step. A function plays the node's agent (agent.ts).
 */

/** A condition of a pod or a node. `since`: its transition time, by the writer's clock. */
export type Condition = Readonly<{ is: boolean; since: number }>;

/** How a container ended. Times are by the kubelet's clock. */
type Exit = Readonly<{
  exitCode: number;
  message: string;
  startedAt: number;
  finishedAt: number;
}>;

type Container = Readonly<{
  /** Undefined while the container does not run. */
  startedAt: number | undefined;
  /** The time at which the kubelet starts the container again. */
  startsAt: number;
  restarts: number;
  last: Exit | undefined;
  /** The reason that the kubelet reports for not starting the container. */
  waits?: string;
}>;

/**
 * A pod's status. Each change makes a new object, so that you can compare two states by identity.
 */
export type PodState = Readonly<{
  container: Container;
  /** The condition ContainersReady, as the kubelet reports it. */
  containersReady: Condition;
  /** Equal to `containersReady`, unless the node controller has set it to false. */
  ready: Condition;
}>;

/**
 * A volume with a Secret's keys and the pod's annotations: one atomic swap changes keys and
 * annotations.
 */
type Mounted = Readonly<{
  secret: Texts;
  annotations: Texts;
  at: number;
}>;

export type Texts = Readonly<Record<string, string>>;

export type ModelPod = {
  readonly uid: string;
  readonly created: number;
  /** The hash of the template from which the pod was made. */
  readonly hash: string;
  annotations: Texts;
  ending: boolean;
  state: PodState;
  mounted: Mounted | undefined;
  /** The last grant that the agent has read, and whether it has answered a probe since. */
  seen: Readonly<{ key: string; answered: boolean }>;
};

/** A content of the Secret. `document` is undefined if the content withdraws everything. */
export type Content = Readonly<{
  revision: number;
  digest: string;
  document: string | undefined;
  intent: string;
}>;

/** The agent's record on its node. */
export type Journal = Readonly<{
  /** 0: no revision is in force. */
  revision: number;
  digest: string;
  /** The content for which the kubelet was restarted. */
  begun?: Content;
  /** True if nothing of ours remains on the node. The journal then ends with the pod. */
  released?: boolean;
  /** A grant that failed here. */
  dead?: string;
}>;

/**
 * The behaviour of an agent, in the order of the values: it turns Ready; it never turns Ready; the
 * kubelet does not start it; it ends once to report that the node is unfit, and then continues; it
 * restarts a kubelet that does not start again; it withdraws without a report; or it ends with this
 * termination message.
 */
export type Behaviour =
  | "ready"
  | "hangs"
  | "never starts"
  | "refuses"
  | "breaks"
  | "wordless"
  | (string & {});

export type ModelNode = {
  readonly name: string;
  /** The node's own condition Ready: false while its kubelet does not report. */
  ready: Condition;
  /** Oldest first. */
  pods: ModelPod[];
  kubelet: "up" | "restarting" | "down";
  /** The document in force. */
  applied: string | undefined;
  journal: Journal | undefined;
  /** Documents for which the node's kubelet was restarted. */
  restarts: string[];
  /** The behaviour of this node's agents, if it differs from that of the other nodes. */
  trouble: Behaviour | undefined;
};

/**
 * An agent's answer: `ready`, `busy`, or the end of its process. The agent can also change the
 * state of the node.
 */
export type Answer = "ready" | "busy" | Readonly<{ exitCode: number; message: string }>;
export type Agent = (
  node: ModelNode,
  pod: ModelPod,
  on: Readonly<{ behaviour: Behaviour; mounted: Mounted; now: number; began: () => void }>,
) => Answer;

/**
 * Seconds after which a kubelet syncs a pod's volumes although nothing has changed. Real kubelets:
 * 60 to 90.
 */
const resyncSeconds = 75;
/**
 * If a container ends and has not been restarted for ten minutes, the kubelet starts it again at
 * once. After further ends the kubelet waits 10, 20, 40 s … 300 s (kuberuntime, doBackOff).
 */
const backOff = { first: 10, longest: 300, forgotten: 600 };

export class NodesModel {
  now = 0;
  nodes: ModelNode[] = [];
  /** The Secret that agents mount, decoded. */
  secret: Texts = {};
  behaviour: (node: ModelNode, pod: ModelPod) => Behaviour = ({ trouble }) => trouble ?? "ready";
  /** Called when an agent reads a grant for the first time. */
  began: (node: ModelNode, pod: ModelPod) => void = () => {};
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
      pods: [],
      kubelet: "up",
      applied: undefined,
      journal: undefined,
      restarts: [],
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
  place(node: ModelNode, { hash, annotations, ...identity }: NewPod): ModelPod {
    const { created = this.now, uid = `pod-${++this.#pods}` } = identity;
    const never = { is: false, since: created };
    const container = { startedAt: undefined, startsAt: 0, restarts: 0, last: undefined };
    const state = { container, containersReady: never, ready: never };
    const of = { uid, created, hash, annotations };
    const seen = { key: "", answered: false };
    const pod = { ...of, ending: false, state, mounted: undefined, seen };
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
   * Lets the kubelet report again. It repeats its former report with the old times, or reports that
   * the containers start again after a reboot.
   */
  revive(node: ModelNode, how: "reports" | "rebooted" = "reports"): void {
    if (node.ready.is) return;
    node.ready = { is: true, since: this.now };
    for (const pod of node.pods)
      if (how === "rebooted") setReady(pod, false, this.now);
      else pod.state = { ...pod.state, ready: pod.state.containersReady };
  }

  tick(seconds = 1): void {
    this.now += seconds;
  }

  /** Plays the next step of the node's kubelet. Returns the pods that the kubelet has ended. */
  kubelet(node: ModelNode): ModelPod[] {
    if (!node.ready.is) return [];
    // A kubelet that does not run ends no pod.
    const ended = node.kubelet === "up" ? node.pods.filter(({ ending }) => ending) : [];
    node.pods = node.pods.filter((pod) => !ended.includes(pod));
    if (ended.length > 0 && node.journal?.released === true) node.journal = undefined;
    if (ended.length === 0) for (const pod of node.pods) this.#run(node, pod);
    return ended;
  }

  #run(node: ModelNode, pod: ModelPod): void {
    const behaviour = this.behaviour(node, pod);
    if (node.kubelet === "restarting") {
      node.kubelet = behaviour === "breaks" ? "down" : "up";
      setReady(pod, false, this.now);
    }
    const mounted = this.#mount(pod);
    const isNew = pod.state.container.startedAt === undefined;
    if (isNew && !this.#start(node, pod, behaviour)) return;
    const began = () => this.began(node, pod);
    const answer = this.#agent(node, pod, { behaviour, mounted, now: this.now, began });
    if (typeof answer === "object") this.#exit(pod, answer);
    else setReady(pod, answer === "ready" && !isNew, this.now);
  }

  /**
   * A patch of the pod brings the newest Secret at once. Without a patch the kubelet mounts the
   * newest Secret at its next sync.
   */
  #mount(pod: ModelPod): Mounted {
    const { mounted, annotations } = pod;
    const isFresh =
      mounted?.annotations === annotations && this.now - mounted.at < resyncSeconds && mounted;
    return isFresh || (pod.mounted = { secret: this.secret, annotations, at: this.now });
  }

  /** Starts the container. Returns false while the kubelet cannot start it, or still waits. */
  #start(node: ModelNode, pod: ModelPod, behaviour: Behaviour): boolean {
    const { waits, ...container } = pod.state.container;
    if (container.startsAt > this.now || node.kubelet !== "up") return false;
    if (behaviour === "never starts") {
      if (waits === undefined)
        pod.state = { ...pod.state, container: { ...container, waits: "ImagePullBackOff" } };
      return false;
    }
    pod.state = { ...pod.state, container: { ...container, startedAt: this.now } };
    return true;
  }

  #exit(pod: ModelPod, { exitCode, message }: Exclude<Answer, string>): void {
    const { now } = this;
    const { startedAt = now, startsAt, last, restarts } = pod.state.container;
    const isRare = last === undefined || now - last.finishedAt >= backOff.forgotten;
    const before = Math.max(0, startsAt - (last?.finishedAt ?? 0));
    const pause = isRare ? 0 : Math.min(backOff.longest, before * 2 || backOff.first);
    const container = {
      startedAt: pause === 0 ? now : undefined,
      startsAt: now + pause,
      restarts: restarts + 1,
      last: { exitCode, message, startedAt, finishedAt: now },
    };
    setReady(pod, false, now);
    pod.state = { ...pod.state, container };
  }
}

/** Since when the pod's status reports Ready; undefined if it does not. */
export const readySince = ({ state: { ready } }: ModelPod): number | undefined =>
  ready.is ? ready.since : undefined;

type NewPod = Readonly<{ hash: string; annotations: Texts; uid?: string; created?: number }>;

/** Sets both conditions like a kubelet: the transition time changes only with the condition. */
function setReady(pod: ModelPod, is: boolean, since: number): void {
  const { containersReady, ready } = pod.state;
  if (containersReady.is === is && ready.is === is) return;
  const next = containersReady.is === is ? containersReady : { is, since };
  pod.state = { ...pod.state, containersReady: next, ready: ready.is === is ? ready : next };
}

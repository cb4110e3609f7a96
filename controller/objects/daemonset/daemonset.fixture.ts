/**
 * For tests: nodes, their kubelets and agents, and the DaemonSet controller
 * (kubernetes/pkg/controller/daemon/update.go, maxSurge 0) as a model. Nothing of ours but the
 * template, the Secret and the strategy reaches it.
 */
import { askingSeconds, type RevisionContent, type Registration } from "#contract/names.ts";
import type { Strategy } from "#controller/rollout/turn/strategy.ts";
import type { Survey } from "#controller/rollout/turn/survey-result.ts";

/** Seconds of Ready that make an agent available, and that nobody may trust less. */
const guard = 3;

type Pod = {
  revision: number;
  generation: number;
  created: number;
  phase: "new" | "restarting" | "done" | "gaveUp" | "refused";
  ready: number | undefined;
  /** Ready as the DaemonSet controller last saw it. */
  seen: number | undefined;
  unready: number;
  leaving: boolean;
};

export type ModelNode = {
  name: string;
  unreachable: boolean;
  since: number;
  pods: Pod[];
  /** The document in force. */
  applied: string | undefined;
  /** Documents for which its kubelet was restarted. */
  restarts: string[];
  /** Its kubelet does not come back from a restart, and is rolled back. */
  broken: boolean;
  /** `refuses`: unfit, says so and touches nothing. `hangs`: never available. */
  odd: "refuses" | "hangs" | undefined;
  /** How far its clock is behind, in seconds. */
  behind: number;
  /** When its kubelet was told of a provider. */
  told: number | undefined;
  /** Taken from work by the DaemonSet controller, and not yet back. */
  taken: boolean;
};

export class DaemonSetModel {
  now = 0;
  nodes: ModelNode[] = [];
  /** What global-pull-secret has said, by revision; the last is what is mounted. */
  readonly contents = new Map<number, RevisionContent>();
  published = 0;
  /** Seconds until a pod pulls on a node; undefined: agents tell kubelets of no provider. */
  pulls: number | undefined;
  registration: Registration = "proved";
  /** Documents that no kubelet survives. */
  readonly bad = new Set<string>();
  template: number | undefined;
  generation = 0;
  strategy: Strategy = { stage: "wave", maxUnavailable: 1 };
  observed = false;
  drifted = false;
  status = { desired: 0, updated: 0, ready: 0, available: 0 };
  mostTaken = 0;
  takenBeforeProof = 0;
  #names = 0;

  join(): ModelNode {
    const made = {
      unreachable: false,
      since: 0,
      pods: [],
      applied: undefined,
      restarts: [],
      broken: false,
      odd: undefined,
      told: undefined,
    };
    const node: ModelNode = { ...made, behind: 0, taken: false, name: `n${this.#names++}` };
    this.nodes.push(node);
    return node;
  }

  /** By its kubelet's clock: what the API says of it. */
  #lasts(ready: number | undefined, { unreachable, behind }: ModelNode, least: number): boolean {
    return !unreachable && ready !== undefined && this.now - (ready - behind) >= least;
  }

  /** It works, whatever anybody thinks. */
  works(node: ModelNode, pod: Pod): boolean {
    return (
      !node.unreachable &&
      pod.phase === "done" &&
      pod.ready !== undefined &&
      this.now - pod.ready >= guard
    );
  }

  /** As the DaemonSet controller's last look at the pods has it. */
  #available(node: ModelNode, pod: Pod): boolean {
    return this.#lasts(
      pod.seen,
      { ...node, unreachable: false },
      this.template === 0 ? 86_400 : guard,
    );
  }

  /** One sync: manage, rollingUpdate, status. With `old` it goes by what it saw the last time. */
  sync(old = false): void {
    if (this.template === undefined) return;
    for (const node of this.nodes)
      for (const pod of node.pods) if (!old) pod.seen = node.unreachable ? undefined : pod.ready;
    for (const node of this.nodes) if (node.pods.length === 0) node.pods.push(this.#made());
    this.#replace();
    const oldest = this.nodes.map((node) => [node, node.pods[0]] as const);
    const count = (is: (node: ModelNode, pod: Pod) => boolean) =>
      oldest.filter(([node, pod]) => pod !== undefined && is(node, pod)).length;
    this.status = {
      desired: this.nodes.length,
      updated: count((_, pod) => this.#isCurrent(pod)),
      ready: count((_, pod) => pod.seen !== undefined),
      available: count((node, pod) => this.#available(node, pod)),
    };
    this.observed = true;
    this.measure();
  }

  #isCurrent = (pod: Pod) => pod.generation === this.generation;

  #made(): Pod {
    const [revision, generation] = [this.template ?? 0, this.generation];
    const at = { created: this.now, unready: this.now };
    return {
      revision,
      generation,
      ...at,
      phase: "new",
      ready: undefined,
      seen: undefined,
      leaving: false,
    };
  }

  #replace(): void {
    let unavailable = 0;
    const [allowed, candidates]: [[ModelNode, Pod][], [ModelNode, Pod][]] = [[], []];
    for (const node of this.nodes) {
      const pod = node.pods.find(({ leaving }) => !leaving);
      const available = pod !== undefined && this.#available(node, pod);
      if (!available) unavailable += 1;
      if (pod === undefined || this.#isCurrent(pod)) continue;
      (available ? candidates : allowed).push([node, pod]);
    }
    const most = unavailableOf(this.strategy.maxUnavailable, this.nodes.length);
    const chosen = candidates.slice(0, Math.max(0, most - unavailable));
    for (const [node, pod] of [...allowed, ...chosen]) {
      pod.leaving = true;
      // What it only takes for unavailable is taken from work all the same; under revision 0 and
      // "hold" no kubelet is.
      const restarts =
        this.contents.get(this.template ?? 0)?.intent !== "hold" && (this.template ?? 0) > 0;
      if (this.works(node, pod) && restarts) node.taken = true;
    }
  }

  /** It was taken from a working state and does not work yet. */
  isAtWork(node: ModelNode): boolean {
    return node.taken && node.pods.some((pod) => pod.leaving || !this.works(node, pod));
  }

  measure(): void {
    const atWork = this.nodes.filter((node) => this.isAtWork(node)).length;
    this.mostTaken = Math.max(this.mostTaken, atWork);
    const proved = this.nodes.some((node) =>
      node.pods.some(
        (pod) => this.#isCurrent(pod) && pod.phase === "done" && pod.ready !== undefined,
      ),
    );
    if (!proved && (this.template ?? 0) > 0)
      this.takenBeforeProof = Math.max(this.takenBeforeProof, atWork);
  }

  /** What the node's kubelet does next: remove what goes, or the next step of the agent. */
  kubelet(index: number): void {
    const node = this.nodes[index % this.nodes.length];
    const pod = node?.pods[0];
    if (node === undefined || node.unreachable || pod === undefined) return;
    if (pod.leaving) return void node.pods.shift();
    // An agent that refused stays, and heals as soon as its node is fit.
    if (pod.phase === "new" || (pod.phase === "refused" && node.odd === undefined))
      this.#start(node, pod);
    else if (pod.phase === "restarting") this.#finish(node, pod);
    // Out of its quarantine.
    else if (pod.phase === "gaveUp" && this.now - pod.unready >= 600) this.#start(node, pod);
    else if (pod.phase === "done" && pod.ready === undefined) this.#ready(node, pod);
    if (pod.phase === "done" && this.works(node, pod)) node.taken = false;
  }

  #start(node: ModelNode, pod: Pod): void {
    const content = this.contents.get(pod.revision);
    if (node.odd === "hangs") return;
    if (node.odd === "refuses") pod.phase = "refused";
    else if (content === undefined || node.applied === content.document) this.#ready(node, pod);
    else if (
      content.intent === "hold" &&
      (node.applied !== undefined || content.document === emptyDocument)
    )
      this.#ready(node, pod);
    // A pod applies its own revision and no other.
    else if (pod.revision === this.published) {
      node.restarts.push(content.document);
      pod.phase = "restarting";
      // Called Ready without any probe, right after the restart.
      pod.ready = this.now;
    }
  }

  #finish(node: ModelNode, pod: Pod): void {
    const document = this.contents.get(pod.revision)?.document;
    this.#endFalseReady(pod);
    if (node.broken || this.bad.has(document ?? "")) {
      pod.phase = "gaveUp";
      return;
    }
    node.applied = document === emptyDocument ? undefined : document;
    if (this.pulls !== undefined) node.told ??= this.now;
    this.#ready(node, pod);
  }

  #ready(node: ModelNode, pod: Pod): void {
    pod.phase = "done";
    if (!this.#awaitsAsking(node)) pod.ready = this.now;
  }

  /** The first node that registers a provider is ready when its kubelet has asked. */
  #awaitsAsking({ told }: ModelNode): boolean {
    if (this.registration === "proved" || told === undefined) return false;
    return this.now - told < Math.min(this.pulls ?? 0, askingSeconds);
  }

  /** That the DaemonSet controller's watch breaks in this very second is not modelled. */
  #endFalseReady(pod: Pod): void {
    this.#unready(pod);
    pod.seen = undefined;
  }

  #unready(pod: Pod): void {
    pod.ready = undefined;
    pod.unready = this.now;
  }

  /** A second goes by; a false Ready lasts no longer, the first probe says no. */
  tick(seconds = 1): void {
    this.now += seconds;
    for (const node of this.nodes)
      for (const pod of node.pods)
        if (!node.unreachable && pod.phase === "restarting") this.#endFalseReady(pod);
  }

  /** A probe of a working agent comes too late once. */
  flicker(index: number): void {
    const pod = this.nodes[index % this.nodes.length]?.pods[0];
    if (pod?.phase === "done") this.#unready(pod);
  }

  die(index: number): void {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined || node.unreachable) return;
    node.unreachable = true;
    node.since = this.now;
  }

  revive(index: number): void {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined || !node.unreachable) return;
    node.unreachable = false;
    for (const pod of node.pods) this.#unready(pod);
  }

  /** `harmless`: what the template says cannot be why a node fell silent. */
  survey(harmless: boolean): Survey {
    return this.nodes.map((node) => {
      const pod = node.pods.find(({ leaving }) => !leaving);
      const ready = pod?.ready;
      const proved = ready !== undefined && node.since - ready >= 60;
      return {
        name: node.name,
        silent: node.unreachable,
        controlPlane: false,
        podlessSeconds: 0,
        silentSeconds: node.unreachable ? this.now - node.since : 0,
        agent: pod && {
          current: this.#isCurrent(pod),
          available: this.#lasts(ready, node, guard),
          running: !node.unreachable && pod.phase !== "new",
          started: !node.unreachable || pod.phase !== "new",
          proved: this.template === 0 || harmless || proved,
          ageSeconds: this.now - pod.created,
          unavailableSeconds: ready === undefined ? this.now - pod.unready : 0,
          gaveUp: pod.phase === "gaveUp",
          refused: pod.phase === "refused",
          gaveBack: false,
          message: undefined,
        },
      };
    });
  }
}

/**
 * How many agents may be unavailable, by the DaemonSet controller's own reckoning
 * (updatedDesiredNodeCounts): a percentage is rounded up, and of none it makes one.
 */
export function unavailableOf(most: number | string, nodes: number): number {
  const scaled =
    typeof most === "number" ? most : Math.ceil((Number(most.replace("%", "")) * nodes) / 100);
  return nodes > 0 && scaled === 0 ? 1 : scaled;
}

export const emptyDocument = '{"auths":{}}';

/**
 * For tests: the nodes and the DaemonSet controller, as the rollout's decisions see them, with the
 * measures that the laws compare. It takes the template, the Secret and the strategy from us.
 */
import { revisionAnnotation, type RevisionContent } from "#contract/names.ts";
import type { Strategy } from "#controller/rollout/turn/strategy.ts";
import type { Survey } from "#controller/rollout/turn/survey-result.ts";
import { agentOf } from "#test/harness/nodes/agent.ts";
import { syncDaemonSet } from "#test/harness/nodes/daemonset-controller.ts";
import {
  type ModelNode,
  type ModelPod,
  NodesModel,
  readySince,
} from "#test/harness/nodes/nodes.ts";

/** Seconds of Ready that make an agent available, and that nobody may trust less. */
const guard = 3;

export class DaemonSetModel extends NodesModel {
  /** Contents of global-pull-secret by revision. Agents mount the last. */
  readonly contents = new Map<number, RevisionContent>();
  published = 0;
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
  /** Since when each pod is Ready, as the DaemonSet controller last saw it. */
  readonly #seen = new Map<ModelPod, number | undefined>();
  /** Nodes taken from work by the DaemonSet controller, and not yet back. */
  readonly #taken = new Set<ModelNode>();
  /** Pods whose agent found nothing wrong with its node when it started. */
  readonly #fit = new WeakSet<ModelPod>();

  constructor() {
    super(agentOf());
    this.unprobed = true;
    this.behaviour = ({ trouble, journal }, pod) => {
      const document = journal?.begun?.document ?? "";
      if (trouble === "breaks" || this.bad.has(document)) return "breaks";
      return this.#fit.has(pod) ? "ready" : (trouble ?? "ready");
    };
  }

  /** Writes the content into the Secret, as the controller does. */
  publish(content: RevisionContent): void {
    this.published = Math.max(this.published, this.template ?? 0) + 1;
    this.contents.set(this.published, content);
    const { document, intent } = content;
    this.secret = { ".dockerconfigjson": document, intent, revision: String(this.published) };
  }

  /** One sync of the DaemonSet controller. With `old` it goes by what it saw the last time. */
  sync(old = false): void {
    if (this.template === undefined) return;
    const { template, now } = this;
    const rules = {
      hash: String(this.generation),
      strategy: "RollingUpdate",
      maxUnavailable: this.strategy.maxUnavailable,
      minReadySeconds: template === 0 ? 86_400 : guard,
      ready: (pod: ModelPod) => this.#seen.get(pod),
    } as const;
    if (!old)
      for (const { pods } of this.nodes)
        for (const pod of pods) this.#seen.set(pod, readySince(pod));
    const { create, remove, counts } = syncDaemonSet(rules, this.nodes, now);
    const annotations = { [revisionAnnotation]: String(template) };
    for (const node of create) this.place(node, { hash: rules.hash, annotations });
    // Under revision 0 and "hold" no kubelet is restarted.
    const restarts = this.contents.get(template)?.intent !== "hold" && template > 0;
    for (const { node, pod } of remove) {
      pod.ending = true;
      // A pod may work though the DaemonSet controller counts it as unavailable.
      if (this.works(node, pod) && restarts) this.#taken.add(node);
    }
    this.status = counts;
    this.observed = true;
    this.measure();
  }

  /** True if it works, whatever its kubelet and the DaemonSet controller report. */
  works(node: ModelNode, { state }: ModelPod): boolean {
    const { is, since } = state.ready;
    return is && node.ready.is && node.kubelet === "up" && this.now - since - node.behind >= guard;
  }

  override tick(seconds = 1): void {
    super.tick(seconds);
    for (const node of this.nodes) this.#endFalseReady(node);
  }

  override kubelet(node: ModelNode): ModelPod[] {
    if (node.ready.is) this.#endFalseReady(node);
    const ended = super.kubelet(node);
    for (const pod of ended) this.#seen.delete(pod);
    for (const pod of node.pods) {
      if (pod.state.ready.is) this.#fit.add(pod);
      if (this.works(node, pod)) this.#taken.delete(node);
    }
    return ended;
  }

  /** That the DaemonSet controller's watch breaks in this very second is not modelled. */
  #endFalseReady(node: ModelNode): void {
    if (node.ready.is && node.kubelet !== "up") for (const pod of node.pods) this.#seen.delete(pod);
  }

  /** It was taken from a working state and does not work yet. */
  isAtWork(node: ModelNode): boolean {
    return this.#taken.has(node) && node.pods.some((pod) => pod.ending || !this.works(node, pod));
  }

  measure(): void {
    const atWork = this.nodes.filter((node) => this.isAtWork(node)).length;
    this.mostTaken = Math.max(this.mostTaken, atWork);
    const proved = this.nodes.some(
      (node) =>
        node.kubelet === "up" &&
        node.pods.some(
          ({ hash, state }) => hash === String(this.generation) && state.containersReady.is,
        ),
    );
    if (!proved && (this.template ?? 0) > 0)
      this.takenBeforeProof = Math.max(this.takenBeforeProof, atWork);
  }

  /** `harmless`: what the template says cannot be why a node fell silent. */
  survey(harmless: boolean): Survey {
    return this.nodes.map(({ name, ready: { is, since }, pods }) => {
      const pod = pods.find(({ ending }) => !ending);
      return {
        name,
        silent: !is,
        controlPlane: false,
        podlessSeconds: 0,
        silentSeconds: is ? 0 : this.now - since,
        agent: pod && this.#surveyed(pod, harmless, since),
      };
    });
  }

  #surveyed(
    { state, created, hash }: ModelPod,
    harmless: boolean,
    silentSince: number,
  ): Survey[number]["agent"] {
    const { ready, containersReady, container } = state;
    const exit = container.last?.exitCode;
    const proved = containersReady.is && silentSince - containersReady.since >= 60;
    return {
      current: hash === String(this.generation),
      available: ready.is && this.now - ready.since >= guard,
      running: container.startedAt !== undefined,
      started: container.startedAt !== undefined || exit !== undefined,
      proved: this.template === 0 || harmless || proved,
      ageSeconds: this.now - created,
      unavailableSeconds: ready.is ? 0 : this.now - ready.since,
      gaveUp: exit === 1,
      refused: exit === 3,
      gaveBack: exit === 0,
      message: undefined,
    };
  }
}

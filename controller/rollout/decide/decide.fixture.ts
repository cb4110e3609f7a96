/**
 * For tests: our controller over the model of the nodes. What it decides is decided by the shipped
 * code; the DaemonSet controller is the model's.
 */
import { type Intent, revisionAnnotation, type RevisionContent } from "#contract/names.ts";
import { publishesIn, remembered, targetOf, wasServed } from "#controller/rollout/halt/course.ts";
import { contentOf, heldContent, knownOf, retrySeconds } from "#controller/rollout/halt/halt.ts";
import { noRollouts } from "#controller/rollout/halt/rollouts.ts";
import type { Strategy } from "#controller/rollout/turn/strategy.ts";
import type { Survey } from "#controller/rollout/turn/survey-result.ts";
import { agentOf, emptyDocument, revisionOf } from "#test/harness/nodes/agent.ts";
import { syncDaemonSet } from "#test/harness/nodes/daemonset-controller.ts";
import {
  type ModelNode,
  type ModelPod,
  NodesModel,
  readySince,
} from "#test/harness/nodes/nodes.ts";
import { createLookout } from "../lookout.ts";
import { fatesOf, countFates } from "#controller/rollout/turn/node-state.ts";
import { isOutage } from "#controller/rollout/turn/excuses.ts";
import { decide } from "./decide.ts";
import { takesBack } from "#controller/rollout/halt/source-withdrawal.ts";
import { isOvertaken, type RolloutInput, type Turn } from "#controller/rollout/turn/turn.ts";

const probationSeconds = 5;
/** Seconds of Ready that make an agent available, and that nobody may trust less. */
const guard = 3;

export class Model extends NodesModel {
  /** What global-pull-secret has said, by revision; the last is what is mounted. */
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
  /** Number of the content that is declared. */
  content = 1;
  intent: Intent = "apply";
  /** Registry → source, as JSON. */
  sources = "{}";
  retry = "";
  lost = false;
  maxFailures: number | string = 0;
  intervalLeft = 0;
  rollouts = noRollouts;
  served: { revision: number; document: string; sources: string } | undefined;
  haltKnown = false;
  surveys = 0;
  turn: Turn | undefined;
  budget: number | string;
  readonly #lookout = createLookout(() => this.now);
  /** Since when each pod is Ready, as the DaemonSet controller last saw it. */
  readonly #seen = new Map<ModelPod, number | undefined>();
  /** Nodes taken from work by the DaemonSet controller, and not yet back. */
  readonly #taken = new Set<ModelNode>();
  /** Pods whose agent found nothing wrong with its node when it started. */
  readonly #fit = new WeakSet<ModelPod>();

  constructor(size: number, budget: number | string) {
    super(agentOf());
    this.budget = budget;
    this.unprobed = true;
    this.behaviour = ({ trouble, journal }, pod) => {
      const document = journal?.begun?.document ?? "";
      if (trouble === "breaks" || this.bad.has(document)) return "breaks";
      return this.#fit.has(pod) ? "ready" : (trouble ?? "ready");
    };
    for (let one = 0; one < size; one++) this.join();
  }

  get wanted(): RevisionContent {
    const { intent, sources } = this;
    if (intent === "release") return { document: emptyDocument, sources: "{}", intent };
    return { document: `document ${this.content}`, sources, intent };
  }

  reconcile(): void {
    const { wanted, rollouts, published, template } = this;
    const asked = {
      content: contentOf(wanted),
      intent: wanted.intent,
      takesBack: takesBack(this.served?.sources, wanted.sources, []),
      retry: this.retry,
      now: new Date(this.now * 1000),
    };
    const now = this.contents.get(published);
    const goal = targetOf(rollouts, asked, wanted, this.served);
    const isPending = (target: RevisionContent) =>
      now?.document !== target.document ||
      now.intent !== target.intent ||
      published < (template ?? 0) ||
      this.lost;
    const complete = this.served?.revision === template;
    const daemonSetState =
      template === undefined
        ? undefined
        : {
            template,
            digest: "",
            ...this.strategy,
            observed: this.observed,
            drifted: this.drifted,
            ...this.status,
          };
    const known = {
      ...knownOf(rollouts, asked),
      harmless: complete || now?.intent === "hold",
      overtaken: isOvertaken({ published, daemonSet: daemonSetState }),
    };
    const input: RolloutInput = {
      published,
      intent: now?.intent ?? "apply",
      wanted: goal.intent,
      takesBack: {
        published: takesBack(this.served?.sources, now?.sources, []),
        wanted: takesBack(now?.sources, wanted.sources, []),
      },
      pending: isPending(goal),
      lost: this.lost || published === 0,
      complete,
      daemonSet: daemonSetState,
      ...(daemonSetState === undefined
        ? { stallSeconds: 0, readySeconds: 0, surveySeconds: 0, calmSeconds: 0 }
        : this.#lookout.clocks(daemonSetState)),
      suspicious: false,
      haltKnown: this.haltKnown,
      probationSeconds,
      intervalLeft: this.intervalLeft,
      retrySeconds: retrySeconds(rollouts, asked),
      counts: undefined,
      maxUnavailable: this.budget,
      restarts: true,
      registers: false,
      maxFailures: this.maxFailures,
    };
    let turn = decide(input);
    let fates: ReturnType<typeof fatesOf> = [];
    if (turn.kind === "survey" && daemonSetState !== undefined) {
      const found =
        this.#lookout.recent(daemonSetState, input.pending) ??
        this.#lookout.seen(daemonSetState, this.#look(input));
      fates = fatesOf(found, probationSeconds, known);
      const seen = countFates(fates, known);
      this.#lookout.judged(fates, isOutage(seen, input, daemonSetState));
      turn = decide({ ...input, counts: seen });
    }
    if (turn.kind === "survey") throw new Error("a survey after a survey");
    const target =
      turn.kind === "roll" && turn.halt !== undefined ? heldContent(this.served) : goal;
    const pending = isPending(target);
    const publishes = pending && publishesIn(turn);
    this.rollouts = remembered(rollouts, asked, {
      turn,
      fates,
      current: now,
      revision: published,
      target,
      overtaken: known.overtaken,
      takesBack: input.takesBack.published,
    });
    this.#carryOut(turn, publishes ? target : undefined);
  }

  #look({ complete, intent }: RolloutInput) {
    this.surveys += 1;
    return this.survey(complete || intent === "hold");
  }

  #carryOut(turn: Exclude<Turn, { kind: "survey" }>, publish: RevisionContent | undefined): void {
    const before = this.contents.get(this.template ?? 0);
    if (wasServed(turn) && before !== undefined && before.intent !== "hold")
      this.served = {
        revision: this.template ?? 0,
        document: before.document,
        sources: before.sources,
      };
    this.turn = turn;
    this.haltKnown = turn.kind === "wait" && turn.phase === "halted";
    if (publish !== undefined) {
      this.published = Math.max(this.published, this.template ?? 0) + 1;
      this.contents.set(this.published, publish);
      const { document, intent } = publish;
      const revision = String(this.published);
      this.secret = { ".dockerconfigjson": document, intent, revision };
      this.lost = false;
    }
    if (turn.kind === "roll") {
      const next = turn.revision === "published" ? this.published : turn.revision;
      if (next !== this.template || this.drifted) {
        this.observed = false;
        this.generation += 1;
      }
      this.template = next;
      this.drifted = false;
    }
    this.strategy = turn.strategy;
  }

  /** Somebody edits the template: the DaemonSet controller begins to roll it. */
  edit(): void {
    if (this.template === undefined) return;
    this.generation += 1;
    this.drifted = true;
    this.observed = false;
  }

  /** What everybody but our controller does. */
  others(): void {
    this.sync();
    for (const node of this.nodes) this.kubelet(node);
  }

  /** Everybody does their part for so many seconds, or until it is so. */
  pass(
    seconds: number,
    until: () => boolean = () => false,
    others: () => void = () => this.others(),
  ): number {
    const start = this.now;
    while (this.now - start < seconds && !until()) {
      // Under a hold nothing happens for hours.
      this.tick(this.turn?.kind === "wait" && this.turn.phase === "held" ? 5 : 1);
      others();
      this.measure();
      this.reconcile();
    }
    return this.now - start;
  }

  converge(): number {
    return this.pass(300_000, () => this.isDone());
  }

  /** Every node that can have it has the last content. */
  isDone(): boolean {
    const now = this.contents.get(this.published);
    if (
      now?.document !== this.wanted.document ||
      now.intent !== this.intent ||
      this.template !== this.published
    )
      return false;
    return this.nodes.every(
      (node) => !node.ready.is || node.trouble !== undefined || this.has(node),
    );
  }

  has(node: ModelNode): boolean {
    return node.pods.some(
      (pod) => !pod.ending && revisionOf(pod) === this.template && this.works(node, pod),
    );
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
      // What it only takes for unavailable is taken from work all the same.
      if (this.works(node, pod) && restarts) this.#taken.add(node);
    }
    this.status = counts;
    this.observed = true;
    this.measure();
  }

  /** It works, whatever anybody thinks. */
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

/**
 * For tests: nodes and the DaemonSet controller (kubernetes/pkg/controller/daemon/update.go, maxSurge 0) as a model, whose rollout is
 * decided by rollout.ts.
 */
import { fatesOf, standing } from "./nodes.ts";
import { quietClock } from "./quiet.ts";
import { budgetNodes, decide, type RolloutInput } from "./rollout.ts";
import type { Survey } from "./survey.ts";

export const minReadySeconds = 5;

type Pod = {
  revision: number;
  created: number;
  ready: number | undefined;
  leaving: boolean;
  taken: boolean;
};
type ModelNode = { dead: boolean; since: number; pods: Pod[] };

export class Model {
  now = 0;
  nodes: ModelNode[];
  content = 1;
  publishedContent = 0;
  published = 0;
  template: number | undefined;
  stage: "canary" | "wave" = "wave";
  maxUnavailable: number | string = 1;
  observed = false;
  status = { desired: 0, updated: 0, available: 0 };
  everDead = 0;
  haltKnown = false;
  mostTaken = 0;
  takenBeforeProof = 0;
  readonly budget: number | string;
  readonly quiet = quietClock(() => new Date(this.now * 1000));

  constructor(size: number, budget: number | string) {
    this.budget = budget;
    this.nodes = Array.from({ length: size }, () => ({ dead: false, since: 0, pods: [] }));
  }

  available(node: ModelNode, pod: Pod): boolean {
    return !node.dead && pod.ready !== undefined && this.now - pod.ready >= minReadySeconds;
  }

  /** One sync of the DaemonSet controller: manage, rollingUpdate, status. */
  sync(): void {
    if (this.template === undefined) return;
    const template = this.template;
    for (const node of this.nodes)
      if (node.pods.length === 0)
        node.pods.push({
          revision: template,
          created: this.now,
          ready: undefined,
          leaving: false,
          taken: false,
        });
    let unavailable = 0;
    const [allowed, candidates]: [Pod[], Pod[]] = [[], []];
    for (const node of this.nodes) {
      const pod = node.pods.find(({ leaving }) => !leaving);
      if (pod === undefined) unavailable += 1;
      else if (pod.revision === template) unavailable += this.available(node, pod) ? 0 : 1;
      else if (this.available(node, pod)) candidates.push(pod);
      else {
        allowed.push(pod);
        unavailable += 1;
      }
    }
    const most = budgetNodes(this.maxUnavailable, this.nodes.length);
    const chosen = candidates.slice(0, Math.max(0, most - unavailable));
    for (const pod of [...allowed, ...chosen]) pod.leaving = true;
    for (const pod of chosen) pod.taken = true;
    const oldest = this.nodes.map((node) => [node, node.pods[0]] as const);
    this.status = {
      desired: this.nodes.length,
      updated: oldest.filter(([, pod]) => pod?.revision === template).length,
      available: oldest.filter(([node, pod]) => pod !== undefined && this.available(node, pod)).length,
    };
    this.observed = true;
    this.measure();
  }

  /** Nodes that were taken from a working state and do not work yet. */
  measure(): void {
    const atWork = this.nodes.filter(
      (node) =>
        node.pods.some((pod) => pod.taken && !this.available(node, pod)) ||
        node.pods.some((pod) => pod.taken && pod.leaving),
    );
    this.mostTaken = Math.max(this.mostTaken, atWork.length);
    const proved = this.nodes.some((node) =>
      node.pods.some((pod) => pod.revision === this.template && this.available(node, pod)),
    );
    if (!proved && (this.template ?? 0) > 0) this.takenBeforeProof = Math.max(this.takenBeforeProof, atWork.length);
  }

  /** What the node's kubelet does next: remove what goes, then start what came. */
  kubelet(index: number): void {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined || node.dead) return;
    const [pod] = node.pods;
    if (pod?.leaving) {
      node.pods.shift();
      const fresh = {
        revision: this.template ?? 0,
        created: this.now,
        ready: undefined,
        leaving: false,
        taken: pod.taken,
      };
      node.pods.push(fresh);
    } else if (pod !== undefined && pod.ready === undefined) pod.ready = this.now;
    else if (pod !== undefined && this.available(node, pod)) pod.taken = false;
  }

  die(index: number): void {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined || node.dead) return;
    node.dead = true;
    node.since = this.now;
    this.everDead += 1;
  }

  revive(index: number): void {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined || !node.dead) return;
    node.dead = false;
    for (const pod of node.pods) pod.ready = undefined;
  }

  survey(): Survey {
    return this.nodes.map((node, index) => {
      const pod = node.pods.find(({ leaving }) => !leaving);
      return {
        name: String(index),
        silent: node.dead,
        agent: pod && {
          current: pod.revision === this.template,
          available: this.available(node, pod),
          started: pod.ready !== undefined,
          proved: this.template === 0 || (pod.ready !== undefined && node.since - pod.ready >= minReadySeconds),
          ageSeconds: this.now - pod.created,
          gaveUp: false,
          message: undefined,
        },
      };
    });
  }

  reconcile(): void {
    const pending = this.publishedContent !== this.content || this.published < (this.template ?? 0);
    const { template, stage, maxUnavailable, observed } = this;
    const daemonSet =
      template === undefined
        ? undefined
        : { template, stage, maxUnavailable, observed, drifted: false, ...this.status };
    const quietSeconds = daemonSet === undefined ? 0 : this.quiet(daemonSet);
    const lost = this.published === 0;
    const input: RolloutInput = {
      published: this.published,
      pending,
      lost,
      daemonSet,
      quietSeconds,
      haltKnown: this.haltKnown,
      trialSeconds: minReadySeconds,
      standing: undefined,
      maxUnavailable: this.budget,
    };
    let turn = decide(input);
    if (turn.kind === "survey")
      turn = decide({ ...input, standing: standing(fatesOf(this.survey(), minReadySeconds)) });
    if (turn.kind === "survey") throw new Error("a survey after a survey");
    this.haltKnown = turn.kind === "wait" && turn.phase === "halted";
    if (turn.kind === "roll") {
      if (pending) {
        this.published = Math.max(this.published, template ?? 0) + 1;
        this.publishedContent = this.content;
      }
      const next = turn.revision === "published" ? this.published : turn.revision;
      if (next !== template)
        for (const pod of this.nodes.flatMap(({ pods }) => pods)) pod.taken = pod.taken && pod.leaving;
      if (next !== template) this.observed = false;
      this.template = next;
    }
    this.stage = turn.strategy.stage;
    this.maxUnavailable = turn.strategy.maxUnavailable;
  }

  /** Everybody does their part until nothing changes any more; returns the seconds it took. */
  settle(): number {
    const start = this.now;
    while (!this.isDone() && this.now - start < 20_000) {
      this.now += 1;
      this.sync();
      for (const index of this.nodes.keys()) this.kubelet(index);
      this.reconcile();
    }
    return this.now - start;
  }

  isDone(): boolean {
    if (this.publishedContent !== this.content || this.template !== this.published) return false;
    return this.nodes.every(
      (node) =>
        node.dead ||
        node.pods.some((pod) => !pod.leaving && pod.revision === this.template && this.available(node, pod)),
    );
  }
}

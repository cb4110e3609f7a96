/**
 * For tests: our controller over the model of the DaemonSet controller. What it decides is decided
 * by the shipped code.
 */
import type { Intent, RevisionContent } from "#contract/names.ts";
import { publishesIn, remembered, targetOf, wasServed } from "#controller/rollout/halt/course.ts";
import { contentOf, heldContent, knownOf, retrySeconds } from "#controller/rollout/halt/halt.ts";
import { noRollouts } from "#controller/rollout/halt/rollouts.ts";
import { emptyDocument, revisionOf } from "#test/harness/nodes/agent.ts";
import type { ModelNode } from "#test/harness/nodes/nodes.ts";
import { createLookout } from "../lookout.ts";
import { fatesOf, countFates } from "#controller/rollout/turn/node-state.ts";
import { isOutage } from "#controller/rollout/turn/excuses.ts";
import { DaemonSetModel } from "./daemonset.fixture.ts";
import { decide } from "./decide.ts";
import { takesBack } from "#controller/rollout/halt/source-withdrawal.ts";
import { isOvertaken, type RolloutInput, type Turn } from "#controller/rollout/turn/turn.ts";

const probationSeconds = 5;

export class Model extends DaemonSetModel {
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

  constructor(size: number, budget: number | string) {
    super();
    this.budget = budget;
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
      this.publish(publish);
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
}

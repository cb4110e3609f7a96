/**
 * A fake node whose agent follows orders and answers them. The test asks, asks again, deletes the
 * node's object, and publishes and promotes contents, in any order, while the agent is killed and
 * the kubelet fails.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { type Order, type Result, belongsTo } from "#contract/order.ts";
import type { Document, Mounted } from "./delivery/mount.ts";

import type { Step } from "./facts/step.ts";
import { authOf, documentOf, kubeletStates, words, FakeNode } from "./node.fixture.ts";

/** The Secret and the node's object. */
class Pod {
  readonly node = new FakeNode();
  newest: Document = documentOf(1, { "a.io": "one" }, "apply");
  served: Document | undefined;
  asked: Order | undefined;
  /** The last attempt that the node answered. */
  #answered: number | undefined;
  #attempts = 0;
  #proved = 0;
  #restarts = 0;
  #changes = 0;
  readonly #mayFail: boolean;

  constructor(mayFail: boolean) {
    this.#mayFail = mayFail;
  }

  publish(word: string, intent: Document["intent"] = "apply"): void {
    const entries = intent === "release" ? {} : { "a.io": word };
    this.newest = documentOf(this.newest.revision + 1, entries, intent);
    if (intent === "release") this.served = undefined;
  }

  promote(): void {
    if (this.newest.intent === "apply") this.served = this.newest;
  }

  ask(which: "newest" | "served" | "again" | "none"): void {
    const attempt = ++this.#attempts;
    const of = ({ revision, digest }: Document): Order => ({ revision, digest, attempt });
    if (which === "none") this.asked = undefined;
    else if (which === "newest") this.asked = of(this.newest);
    else if (which === "served") this.asked = of(this.served ?? this.newest);
    else if (this.asked !== undefined) this.asked = { ...this.asked, attempt };
  }

  #observe(): void {
    const { node, asked, newest, served } = this;
    const isOpen = asked !== undefined && asked.attempt !== this.#answered;
    const isOlder = isOpen && asked.revision < (node.journal?.revision ?? 0);
    node.order = isOpen && !isOlder ? asked : "none";
    node.document = newest;
    node.mounted = this.#selected(served, node.order);
  }

  /** The content that contents.ts selects. */
  #selected(served: Document | undefined, order: Order | "none"): Mounted {
    const { newest, node } = this;
    if (newest.intent === "release") return newest;
    const kept = (node.journal?.revision ?? 0) > 0 ? node.journal : undefined;
    const contents = [newest, ...(served === undefined ? [] : [served])];
    if (order === "none" && kept === undefined)
      return served === undefined ? { kind: "nothing" } : { ...served, served: true };
    const named = [order, kept].flatMap((wanted) =>
      wanted === undefined || wanted === "none"
        ? []
        : contents.filter((document) => belongsTo(document, wanted)),
    );
    return named[0] ?? { kind: "other", revision: newest.revision };
  }

  step(cut = false): Step {
    this.#observe();
    const { order, journal } = this.node;
    const step = this.node.step(cut);
    if (step.action === "apply")
      this.#judgeTaken(step.journal.content, order, journal === undefined);
    if (!cut && "result" in step && order !== "none") this.#answer(step.result, order);
    if (step.action === "restart" && !cut) this.#restarts += 1;
    if (!this.#mayFail)
      assert.ok(this.#restarts <= this.#changes, "more restarts than changes of the content");
    this.#judgeKept(step);
    return step;
  }

  #answer(result: Result | undefined, order: Order): void {
    const isProved = result === "Proved" && belongsTo(this.node.journal ?? order, order);
    if (isProved || result === "Failed") this.#answered = order.attempt;
  }

  #judgeTaken(content: string, order: FakeNode["order"], isFirst: boolean): void {
    const isAsked =
      typeof order === "object" &&
      [this.newest, this.served].some(
        (document) => document?.content === content && document.digest === order.digest,
      );
    // Without an order, a node still repairs its content, finishes a change, and withdraws.
    const mayTake =
      this.served?.content === content ||
      this.newest.intent === "release" ||
      (!isFirst && this.newest.content === content);
    assert.ok(isAsked || mayTake, "the agent took content that is neither ordered nor served");
    this.#changes += 1;
  }

  #judgeKept(step: Step): void {
    const { journal } = this.node;
    if (step.action === "leave") this.#proved = 0;
    if (journal?.phase !== "applied") return;
    assert.ok(journal.revision >= this.#proved, "the node went back from a proved revision");
    this.#proved = journal.revision;
  }
}

type Event = (pod: Pod) => void;
const word = fc.constantFrom(...words);
const calm: readonly fc.Arbitrary<Event>[] = [
  word.map((text) => (pod: Pod) => pod.publish(text)),
  fc.constant((pod: Pod) => pod.promote()),
  fc
    .constantFrom("newest", "newest", "newest", "served", "again", "none")
    .map((which) => (pod: Pod) => pod.ask(which)),
  fc.constant((pod: Pod) => pod.node.kill()),
  fc.constant((pod: Pod) => void pod.step(true)),
];
const failing: readonly fc.Arbitrary<Event>[] = [
  ...calm,
  fc.constant((pod: Pod) => pod.publish("", "release")),
  fc.constantFrom(...kubeletStates).map((state) => (pod: Pod) => void (pod.node.kubelet = state)),
  fc
    .constantFrom("Always", "Never")
    .map((policy) => (pod: Pod) => void (pod.node.restart = policy)),
];
const history = (events: readonly fc.Arbitrary<Event>[]) =>
  fc.array(fc.tuple(fc.oneof(...events), fc.constantFrom(0, 1, 2, 5, 40)), {
    maxLength: 25,
    size: "max",
  });
const numRuns = process.env["EVERY_POINT"] === "1" ? 2000 : 150;

function play(pod: Pod, happened: readonly (readonly [Event, number])[]): void {
  for (const [happen, steps] of happened) {
    happen(pod);
    for (let done = 0; done < steps; done += 1) pod.step();
  }
}

/** Executes steps until the node has the newest content. */
function settle(pod: Pod): string {
  const resultOf = (step: Step) => ("result" in step ? `${step.code} ${step.result}` : step.code);
  const isOver = () => pod.node.journal?.revision === pod.newest.revision;
  let last = resultOf(pod.step());
  for (let steps = 0; steps < 3000 && !(last.endsWith("Proved") && isOver()); steps += 1)
    last = resultOf(pod.step());
  return last;
}

test("takes only ordered or served content, keeps proved content, and restarts once for each content", () => {
  fc.assert(
    fc.property(history(calm), (happened) => {
      const pod = new Pod(false);
      play(pod, happened);
    }),
    { numRuns },
  );
});

test("follows a new order of the newest content, whatever failed before", () => {
  fc.assert(
    fc.property(history(failing), word, (happened, last) => {
      const pod = new Pod(true);
      play(pod, happened);
      pod.node.kubelet = "up";
      pod.publish(last);
      pod.ask("newest");
      if (pod.node.unit.active !== "active" || !pod.node.healthy) pod.node.start("up");
      assert.equal(settle(pod), "GPS200 Proved");
      assert.equal(pod.node.journal?.revision, pod.newest.revision);
      const { now } = pod.node.file;
      assert.ok("bytes" in now && now.bytes.includes(authOf(last)));
    }),
    { numRuns },
  );
});

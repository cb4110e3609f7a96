/**
 * A fake node that keeps its pod. The test makes, repeats and revokes grants, and publishes and
 * promotes contents, in any order, while the agent is killed and the kubelet fails.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { Grant } from "#contract/grant.ts";
import type { Document, Mounted } from "./delivery/mount.ts";
import type { Step } from "./facts/step.ts";
import { authOf, documentOf, kubeletStates, words, FakeNode } from "./node.fixture.ts";

/** The Secret and the pod's grant, as volume.ts reads them. */
class Pod {
  readonly node = new FakeNode();
  newest: Document = documentOf(1, { "a.io": "one" }, "apply");
  served: Document | undefined;
  #since = 0;
  #proved = 0;
  #restarts = 0;
  #changes = 0;
  readonly #mayFail: boolean;

  constructor(mayFail: boolean) {
    this.#mayFail = mayFail;
    this.grant("none");
  }

  publish(word: string, intent: Document["intent"] = "apply"): void {
    const entries = intent === "release" ? {} : { "a.io": word };
    this.newest = documentOf(this.newest.revision + 1, entries, intent);
    if (intent === "release") this.served = undefined;
    this.#mount();
  }

  promote(): void {
    if (this.newest.intent === "apply") this.served = this.newest;
    this.#mount();
  }

  grant(which: "newest" | "served" | "again" | "back" | "none"): void {
    const { grant } = this.node;
    const since = `number-${++this.#since}`;
    const of = ({ revision, digest }: Document): Grant => ({
      revision,
      digest,
      since,
      word: false,
    });
    if (which === "none") this.node.grant = "none";
    else if (which === "newest") this.node.grant = of(this.newest);
    else if (which === "served") this.node.grant = of(this.served ?? this.newest);
    else if (which === "back") this.node.grant = { ...of(this.newest), revision: 0 };
    else if (typeof grant === "object") this.node.grant = { ...grant, since };
    this.#mount();
  }

  #mount(): void {
    this.node.mounted = this.#meant();
    this.node.document = this.newest;
  }

  #meant(): Mounted {
    const { newest, served } = this;
    const { grant } = this.node;
    if (typeof grant !== "object" || grant.revision === 0)
      return served === undefined
        ? { kind: "nothing", releasing: newest.intent === "release" }
        : { ...served, served: true };
    const named = [newest, served].find((document) => document?.digest === grant.digest);
    return named ?? { kind: "other", revision: newest.revision };
  }

  step(cut = false): Step {
    const { grant, journal } = this.node;
    const step = this.node.step(cut);
    if (step.action === "apply")
      this.#judgeTaken(step.journal.content, grant, journal === undefined);
    if (step.action === "restart" && !cut) this.#restarts += 1;
    if (!this.#mayFail)
      assert.ok(this.#restarts <= this.#changes, "more restarts than changes of the content");
    this.#judgeKept(step);
    return step;
  }

  #judgeTaken(content: string, grant: FakeNode["grant"], isFirst: boolean): void {
    const granted =
      typeof grant === "object" &&
      [this.newest, this.served].some(
        (document) => document?.content === content && document.digest === grant.digest,
      );
    // Without a grant, a node still repairs its content and finishes a change.
    const mayServe = this.served?.content === content;
    assert.ok(granted || mayServe, "the agent took content that is neither granted nor served");
    assert.ok(granted || !isFirst || mayServe);
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
    .constantFrom("newest", "newest", "newest", "served", "again", "back", "none")
    .map((which) => (pod: Pod) => pod.grant(which)),
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

/** Executes steps until the node is Ready. */
function settle(pod: Pod): Step {
  let last = pod.step();
  for (let steps = 0; steps < 3000 && !last.ready; steps += 1) last = pod.step();
  return last;
}

test("takes only granted or served content, keeps proved content, and restarts once for each content", () => {
  fc.assert(
    fc.property(history(calm), (happened) => {
      const pod = new Pod(false);
      play(pod, happened);
    }),
    { numRuns },
  );
});

test("brings a new grant of the newest content into force, whatever failed before", () => {
  fc.assert(
    fc.property(history(failing), word, (happened, last) => {
      const pod = new Pod(true);
      play(pod, happened);
      pod.node.kubelet = "up";
      pod.publish(last);
      pod.grant("newest");
      if (pod.node.unit.active !== "active" || !pod.node.healthy) pod.node.start("up");
      const step = settle(pod);
      assert.equal(`${step.code} ${step.ready}`, "GPS200 true");
      assert.equal(pod.node.journal?.revision, pod.newest.revision);
      const { now } = pod.node.file;
      assert.ok("bytes" in now && now.bytes.includes(authOf(last)));
    }),
    { numRuns },
  );
});

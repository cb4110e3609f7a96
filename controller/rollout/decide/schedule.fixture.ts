/** For tests: what may happen to a cluster of the model, in any order. */
import fc from "fast-check";
import type { Model } from "./decide.fixture.ts";

type Step =
  | "sync"
  | "old"
  | "reconcile"
  | "second"
  | "minute"
  | "content"
  | "source"
  | "release"
  | "edit"
  | "join"
  | "lost"
  | "outage"
  | "return";
type On =
  | "pass"
  | "kubelet"
  | "flicker"
  | "die"
  | "revive"
  | "breaks"
  | "refuses"
  | "hangs"
  | "heals";
export type Happening = Step | readonly [On, number];

/** Weights in hundredths. */
const just = (weight: number, event: Step) => ({
  weight,
  arbitrary: fc.constant<Happening>(event),
});
const on = (weight: number, what: On) => ({
  weight,
  arbitrary: fc.nat(19).map((node): Happening => [what, node]),
});

const usual = [
  just(600, "sync"),
  just(600, "reconcile"),
  just(500, "second"),
  just(100, "content"),
  on(1400, "kubelet"),
  just(200, "old"),
  just(10, "join"),
  just(3, "edit"),
  just(3, "lost"),
  // Without these no schedule would get past the birth of more than a few nodes.
  on(60, "pass"),
];
const trouble = [
  on(50, "die"),
  on(50, "revive"),
  on(20, "breaks"),
  on(20, "refuses"),
  on(20, "hangs"),
  on(30, "heals"),
  on(30, "flicker"),
];
/** One source of two goes, or comes back. */
const source = just(20, "source");
/** Only for laws of safety: what is served is not deleted here, as at the end of a withdrawal. */
const release = just(10, "release");
const masses = [just(10, "outage"), just(10, "return"), just(20, "minute")];

/** fast-check's own size would play five events of these. */
const events = (most: number, ...choices: readonly fc.WeightedArbitrary<Happening>[]) =>
  fc.array(fc.oneof(...choices), { minLength: (most * 2) / 3, maxLength: most, size: "max" });

/** Single steps, in which no node is in trouble. */
export const calm = events(300, ...usual, source);
/** Single steps and every trouble. */
export const storm = events(300, ...usual, source, ...trouble, ...masses);
/** Rollouts that go on, while single nodes get into trouble and out of it. */
export const rough = events(60, on(600, "pass"), just(60, "content"), source, release, ...trouble);

export const sizes = fc.integer({ min: 1, max: 20 });
export const budgets = fc.constantFrom<(number | string)[]>(1, 2, 3, "10%", "25%", "60%");

const one = '{"a.io":"additional"}';
/** The registries of two sources, of which one may be taken back. */
export const both = '{"a.io":"additional","b.io":"team-b"}';

export function play(model: Model, schedule: readonly Happening[]): void {
  const steps: Record<Step, () => unknown> = {
    sync: () => model.sync(),
    old: () => model.sync(true),
    reconcile: () => model.reconcile(),
    second: () => model.tick(),
    minute: () => model.tick(60),
    content: () => (model.content += 1),
    source: () => {
      model.content += 1;
      model.sources = model.sources === both ? one : both;
    },
    release: () => (model.intent = model.intent === "apply" ? "release" : "apply"),
    edit: () => model.edit(),
    join: () => model.nodes.length < 30 && model.join(),
    lost: () => (model.lost = true),
    outage: () => {
      for (const node of model.nodes) model.die(node);
    },
    return: () => {
      for (const node of model.nodes) model.revive(node, "rebooted");
    },
  };
  for (const event of schedule) {
    if (typeof event === "string") steps[event]();
    else happen(model, ...event);
    model.measure();
  }
}

function happen(model: Model, what: On, index: number): void {
  const node = model.nodes[index % model.nodes.length];
  if (node === undefined) return;
  if (what === "pass") model.pass(index + 1);
  else if (what === "heals") node.trouble = undefined;
  else if (what === "breaks" || what === "refuses" || what === "hangs") node.trouble = what;
  else if (what === "revive") model.revive(node, "rebooted");
  else model[what](node);
}

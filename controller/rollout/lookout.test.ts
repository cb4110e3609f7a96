import assert from "node:assert/strict";
import { test } from "node:test";
import { createLookout } from "./lookout.ts";
import type { Survey } from "#controller/rollout/turn/survey-result.ts";
import type { DaemonSetState } from "#controller/rollout/turn/turn.ts";

const daemonSetState = (changes: Partial<DaemonSetState> = {}): DaemonSetState => ({
  template: 3,
  digest: "",
  stage: "wave",
  maxUnavailable: 1,
  drifted: false,
  observed: true,
  desired: 3,
  updated: 3,
  ready: 2,
  available: 2,
  ...changes,
});
const missing = (unavailableSeconds: number, available = false): Survey => [
  {
    name: "a",
    silent: false,
    silentSeconds: 0,
    podlessSeconds: 0,
    controlPlane: false,
    agent: {
      current: true,
      available,
      running: true,
      started: true,
      proved: true,
      ageSeconds: 900,
      unavailableSeconds,
      gaveUp: false,
      refused: false,
      gaveBack: false,
      message: undefined,
    },
  },
];

function start() {
  let seconds = 0;
  const lookout = createLookout(() => 1e9 + seconds);
  return { lookout, pass: (more: number) => (seconds += more) };
}

test("a survey is believed while the counters stand still: five minutes at rest, half a minute before a rollout", () => {
  const { lookout, pass } = start();
  lookout.seen(daemonSetState(), missing(0));
  pass(29);
  assert.ok(lookout.recent(daemonSetState(), true));
  pass(2);
  assert.equal(lookout.recent(daemonSetState(), true), undefined);
  assert.ok(lookout.recent(daemonSetState(), false));
  assert.equal(lookout.recent(daemonSetState({ available: 1 }), false), undefined);
  assert.equal(lookout.recent(daemonSetState({ template: 4 }), false), undefined);
  pass(270);
  assert.equal(lookout.recent(daemonSetState(), false), undefined);
});

test("a survey older than the counters says when there may be another: two seconds after it", () => {
  const { lookout, pass } = start();
  assert.equal(lookout.outdated(daemonSetState()), undefined, "there is none");
  lookout.seen(daemonSetState(), missing(0));
  pass(0.5);
  assert.equal(lookout.outdated(daemonSetState()), undefined, "it is of these counters");
  assert.equal(lookout.outdated(daemonSetState({ available: 1 })), 1.5);
  pass(1.5);
  assert.equal(
    lookout.outdated(daemonSetState({ available: 1 })),
    undefined,
    "there may be one now",
  );
});

test("while a node is moving or stuck, a survey is believed for ten seconds", () => {
  const { lookout, pass } = start();
  const found = lookout.seen(daemonSetState(), missing(0));
  lookout.judged(
    found.map((node) => [node, "moving"]),
    false,
  );
  pass(9);
  assert.ok(lookout.recent(daemonSetState(), false));
  pass(2);
  assert.equal(lookout.recent(daemonSetState(), false), undefined);
});

test("a Ready that flickers is no break: an agent has been unavailable since it was first seen so", () => {
  const { lookout, pass } = start();
  const since = (survey: Survey) => survey[0]?.agent?.unavailableSeconds;
  lookout.seen(daemonSetState(), missing(5));
  pass(200);
  assert.equal(since(lookout.seen(daemonSetState(), missing(0))), 200);
  lookout.seen(daemonSetState(), missing(0, true));
  pass(100);
  assert.equal(since(lookout.seen(daemonSetState(), missing(0))), 0);
});

test("in a wave agents that ended are looked for every 10 s, among 5,000 every 50 s", () => {
  for (const [desired, seconds] of [
    [20, 10],
    [5000, 50],
  ] as const) {
    const { lookout, pass } = start();
    const wave = daemonSetState({ desired, updated: 2 });
    assert.equal(lookout.glances(wave), false);
    pass(seconds - 1);
    assert.equal(lookout.glances(wave), false);
    pass(1);
    assert.equal(lookout.glances(wave), true);
    assert.equal(lookout.suspects(["a/1"]), true);
    assert.equal(lookout.glances(wave), false);
    pass(seconds);
    assert.equal(lookout.suspects(["a/1"]), false);
  }
});

test("outside a wave agents that ended are not looked for", () => {
  const { lookout, pass } = start();
  pass(1000);
  assert.equal(lookout.glances(daemonSetState()), false);
  assert.equal(lookout.glances(daemonSetState({ template: 0, updated: 0 })), false);
});

test("for how long a node has had no pod is counted from when that was first seen", () => {
  const { lookout, pass } = start();
  const podless = (survey: Survey) => lookout.seen(daemonSetState(), survey)[0]?.podlessSeconds;
  const [node] = missing(0);
  assert.ok(node);
  const without = [{ ...node, agent: undefined }];
  assert.equal(podless(without), 0);
  pass(30);
  assert.equal(podless(without), 30);
  assert.equal(podless(missing(0)), 0);
  pass(30);
  assert.equal(podless(without), 0, "counted anew");
});

test("at birth a survey is believed for as long as the Ready agents are as many", () => {
  const { lookout, pass } = start();
  const born = { template: 0, available: 0 };
  lookout.seen(daemonSetState({ ...born, ready: 20 }), missing(0));
  pass(3);
  assert.ok(lookout.recent(daemonSetState({ ...born, ready: 20 }), false));
  assert.equal(lookout.recent(daemonSetState({ ...born, ready: 0 }), false), undefined);
});

test("calm is counted from the last survey that found an outage, or from the API server's return", () => {
  let back = 100;
  let at = 0;
  const lookout = createLookout(
    () => at,
    () => back,
  );
  const calm = () => lookout.clocks(daemonSetState()).calmSeconds;
  assert.equal(calm(), 100);
  lookout.judged([], true);
  at += 40;
  lookout.judged([], false);
  assert.equal(calm(), 40);
  back = 5;
  assert.equal(calm(), 5);
});

import assert from "node:assert/strict";
import test from "node:test";
import type { Grant } from "#contract/grant.ts";
import type { Code } from "../facts/problems.ts";
import { resync, type Step, wait } from "../facts/step.ts";
import { Flank } from "./flank.ts";

const since = "2026-11-26T18:25:07Z";
const grant: Grant = { revision: 7, digest: "d", since, word: false };
const ready: Step = { action: "nothing", code: "GPS200", ready: true, again: resync };

function place() {
  const clock = { now: Date.parse(since) + 5000 };
  const flank = new Flank(() => clock.now);
  const isReady = (given: Grant | "none" | "unread" = grant) => flank.instead(ready, given).ready;
  return { clock, flank, isReady };
}

test("is ready for a new grant only after the kubelet has seen it unready", () => {
  const { flank, isReady } = place();
  assert.equal(isReady(), false);
  flank.answeredUnready();
  assert.equal(isReady(), true);
  assert.equal(isReady(), true);
  for (const next of [{ since: "2026-11-26T18:25:08Z" }, { revision: 0 }, { digest: "e" }]) {
    assert.equal(isReady({ ...grant, ...next }), false);
    flank.answeredUnready();
    assert.equal(isReady({ ...grant, ...next }), true);
  }
});

test("is not ready in the second of since, whatever was answered", () => {
  const { clock, flank, isReady } = place();
  clock.now = Date.parse(since) + 400;
  isReady();
  flank.answeredUnready();
  assert.equal(isReady(), false);
  clock.now += 599;
  assert.equal(isReady(), false);
  clock.now += 1;
  assert.equal(isReady(), true);
});

test("is not ready shortly before since on a clock that was set back, and long before it is", () => {
  const { clock, flank, isReady } = place();
  isReady();
  flank.answeredUnready();
  const rows = [
    [-3600, true],
    [-60, true],
    [-59, false],
    [-1, false],
    [0, false],
    [1, true],
  ] as const;
  for (const [seconds, expected] of rows) {
    clock.now = Date.parse(since) + seconds * 1000;
    assert.equal(isReady(), expected, `${seconds} s`);
  }
});

test("asks for a probe alone where since is no time", () => {
  const { flank, isReady } = place();
  const odd = { ...grant, since: "soon" };
  assert.equal(isReady(odd), false);
  flank.answeredUnready();
  assert.equal(isReady(odd), true);
});

test("counts no answer to a kubelet that has ended since", () => {
  const ends: readonly Code[] = ["GPS212", "GPS213", "GPS214", "GPS217", "GPS221"];
  for (const code of ends) {
    const { flank, isReady } = place();
    isReady();
    flank.answeredUnready();
    flank.instead(wait(code, 100), grant);
    assert.equal(flank.answeredUnready(), false, "the old kubelet, until the next look");
    flank.instead(wait("GPS215", 100), grant);
    assert.equal(isReady(), false, code);
    assert.equal(flank.answeredUnready(), true);
    flank.instead(wait("GPS215", 100), grant);
    assert.equal(isReady(), true, "the probation follows the restart");
  }
});

test("is ready after a take-back on a node whose healthz is off", () => {
  const { flank } = place();
  const silent: Step = { ...wait("GPS221", 1000), ready: true };
  const back = { ...grant, revision: 0 };
  assert.equal(flank.instead(silent, back).code, "GPS258");
  assert.equal(flank.answeredUnready(), true);
  assert.deepEqual(flank.instead(silent, back), silent);
});

test("demands nothing of a node without a grant", () => {
  const { isReady } = place();
  for (const other of ["none", "unread"] as const) assert.equal(isReady(other), true);
});

test("keeps what was answered while the volume cannot be read for a moment", () => {
  const { flank, isReady } = place();
  isReady();
  flank.answeredUnready();
  assert.equal(isReady("unread"), true);
  assert.equal(isReady(), true);
});

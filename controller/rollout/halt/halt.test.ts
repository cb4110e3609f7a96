import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterHalt,
  afterRoll,
  afterServed,
  contentOf,
  heldContent,
  isHeld,
  knownOf,
  retrySeconds,
  type AskedContent,
} from "./halt.ts";
import { noRollouts, readRollouts } from "./rollouts.ts";

const start = Date.parse("2026-11-23T00:00:00Z");
const minutes = 60_000;
const asked = (at: number, changes: Partial<AskedContent> = {}): AskedContent => ({
  content: "c",
  intent: "apply",
  takesBack: false,
  retry: "",
  now: new Date(start + at * minutes),
  ...changes,
});
const failed = (nodes: readonly string[]) =>
  ({ asked: asked(0), revision: 4, reason: "failed", nodes }) as const;

test("what halted is held for ten minutes, then twenty, six hours at most", () => {
  let rollouts = afterHalt(noRollouts, failed(["a"]));
  let at = 0;
  const pauses: number[] = [];
  for (let one = 0; one < 8; one++) {
    const since = at;
    while (isHeld(rollouts, asked(at))) at += 1;
    pauses.push(at - since);
    rollouts = afterRoll(rollouts, asked(at), []);
    assert.equal(isHeld(rollouts, asked(at)), false);
    rollouts = afterHalt(rollouts, { ...failed(["a"]), asked: asked(at) });
  }
  assert.deepEqual(pauses, [10, 20, 40, 80, 160, 320, 360, 360]);
  assert.equal(rollouts.halt?.since, asked(0).now.toISOString());
});

test("a retry time that a clock a year ahead has written is due at once", () => {
  const rollouts = afterHalt(noRollouts, failed(["a"]));
  const earlier = asked(-365 * 24 * 60);
  assert.deepEqual([isHeld(rollouts, earlier), retrySeconds(rollouts, earlier)], [false, 0]);
  assert.deepEqual([isHeld(rollouts, asked(0)), retrySeconds(rollouts, asked(0))], [true, 600]);
});

test("a changed document, a withdrawal and a new wish end the hold; the wish that was known does not", () => {
  const rollouts = afterHalt(noRollouts, { ...failed(["a"]), asked: asked(0, { retry: "once" }) });
  assert.ok(isHeld(rollouts, asked(1, { retry: "once" })));
  // Taken away, or not to be read just now.
  assert.ok(isHeld(rollouts, asked(1, { retry: "" })));
  for (const other of [{ content: "d" }, { intent: "release" }, { retry: "again" }] as const)
    assert.equal(isHeld(rollouts, asked(1, { retry: "once", ...other })), false);
  const tried = afterRoll(rollouts, asked(1, { retry: "again" }), []);
  assert.equal(isHeld(tried, asked(2, { retry: "again" })), false);
  assert.equal(tried.halt?.tries, 1);
});

test("of two objects that ask for a retry, one that asks no more asks for nothing; another value on one does", () => {
  const halted = afterHalt(noRollouts, { ...failed(["a"]), asked: asked(0, { retry: "1 2" }) });
  for (const [retry, held] of [
    ["1 2", true],
    ["2", true],
    ["", true],
    ["3 2", false],
    ["1 2 3", false],
  ] as const)
    assert.equal(isHeld(halted, asked(1, { retry })), held, retry);
});

test("a node that failed is excused in the next try, and another node's failure then means that restarts fail", () => {
  const first = afterHalt(noRollouts, failed(["a"]));
  assert.equal(knownOf(first, asked(5)).failed.size, 0);
  const tried = afterRoll(first, asked(10), []);
  assert.deepEqual([...knownOf(tried, asked(11)).failed], ["a"]);
  const second = afterHalt(tried, { ...failed(["b"]), asked: asked(12) });
  assert.deepEqual([second.halt?.reason, second.halt?.nodes], ["stalled", ["a", "b"]]);
  assert.deepEqual(afterServed(second, ["a"]), { ...second, halt: undefined, excused: ["a"] });
});

test("an outage waits for the nodes, not for a time, and is no try", () => {
  const rollouts = afterHalt(noRollouts, { ...failed([]), reason: "outage" });
  assert.equal(isHeld(rollouts, asked(0)), false);
  const on = afterRoll(rollouts, asked(1), []);
  const halted = afterHalt(on, { ...failed(["a"]), asked: asked(2) });
  assert.deepEqual([halted.halt?.reason, halted.halt?.tries], ["failed", 0]);
});

test("an outage while what failed is tried again is another failure", () => {
  const tried = afterRoll(afterHalt(noRollouts, failed(["a"])), asked(10), []);
  const { halt } = afterHalt(tried, { ...failed([]), asked: asked(11), reason: "outage" });
  assert.deepEqual([halt?.reason, halt?.retryAt], ["failed", asked(31).now.toISOString()]);
});

test("the order to keep carries what was served last, or nothing", () => {
  assert.deepEqual(heldContent(undefined), {
    document: '{"auths":{}}',
    sources: "{}",
    intent: "hold",
  });
  assert.equal(heldContent({ document: "d", sources: "s" }).document, "d");
});

test("what is remembered is read as it was written, and nonsense as nothing", () => {
  const rollouts = afterRoll(afterHalt(noRollouts, failed(["a"])), asked(10), ["b"]);
  assert.deepEqual(readRollouts(JSON.parse(JSON.stringify(rollouts))), rollouts);
  for (const value of [
    undefined,
    null,
    7,
    "x",
    [],
    { halt: { content: 7 }, excused: "a", rolledAt: "soon" },
  ])
    assert.deepEqual(readRollouts(value), noRollouts);
  assert.notEqual(
    contentOf({ document: "d", sources: "s", intent: "apply" }),
    contentOf({ document: "d", sources: "s", intent: "hold" }),
  );
});

/** Even a slow agent must finish within the time after which the controller calls it silent. */
import assert from "node:assert/strict";
import test from "node:test";
import { answerSeconds, usualSeconds, restartAttempts, rereadSeconds } from "#contract/times.ts";
import type { Step } from "./facts/step.ts";
import { FakeNode } from "./node.fixture.ts";

/** Milliseconds, one second below a limit. */
const almost = (seconds: number) => seconds * 1000 - 1000;

function asked(probationSeconds: number): FakeNode {
  const node = new FakeNode();
  node.probation = probationSeconds * 1000;
  node.publish({ "b.io": "one" }, "apply");
  return node;
}

const isProved = (step: Step) => "result" in step && step.result === "Proved";

/** Runs steps for this many milliseconds, or until a step meets the condition. */
function pass(node: FakeNode, milliseconds: number, isOver: (step: Step) => boolean = () => false) {
  const until = node.clock + milliseconds;
  let step = node.step();
  while (node.clock < until && !isOver(step)) step = node.step();
  return step;
}

/**
 * One restart that takes as long as allowed. Returns when the probation is almost over. The start
 * ends at once, because the limit includes no time for a start or stop that hangs.
 */
function restartSlowly(node: FakeNode, probationSeconds: number): void {
  node.kubelet = "hanging";
  pass(node, 120_000, () => node.unit.active === "activating");
  assert.equal(node.unit.active, "activating", "no restart was requested");
  node.start("silent");
  pass(node, almost(answerSeconds));
  node.healthy = true;
  // The probation counts from the process's start, and lasts 1 s or more after the first answer.
  pass(node, Math.max(500, almost(probationSeconds - answerSeconds)));
}

for (const probationSeconds of [5, 180, 600])
  test(`allows enough time for the slowest allowed restarts, with a probation of ${probationSeconds} s`, () => {
    for (const isLast of ["up", "failed"] as const) {
      const node = asked(probationSeconds);
      const from = node.clock;
      for (let attempt = 1; attempt <= restartAttempts; attempt += 1) {
        restartSlowly(node, probationSeconds);
        if (attempt < restartAttempts) node.start("failed");
      }
      if (isLast === "failed") node.start("failed");
      node.kubelet = "up";
      const { code } = pass(node, 3_600_000, (step) => isProved(step) || step.code === "GPS216");
      const seconds = (node.clock - from) / 1000;
      assert.equal(code, isLast === "up" ? "GPS200" : "GPS216");
      const limit = usualSeconds(probationSeconds);
      assert.ok(seconds < limit && seconds > limit - 450, `${seconds} s of ${limit} s`);
    }
  });

test("allows enough time for an agent whose kubelet rereads the file", () => {
  const node = asked(1);
  node.restart = "Never";
  const from = node.clock;
  pass(node, 3_600_000, isProved);
  const seconds = (node.clock - from) / 1000;
  assert.ok(seconds >= rereadSeconds && seconds < usualSeconds(1));
});

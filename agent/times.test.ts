/** The slowest agent by design, against the time that the controller gives it. */
import assert from "node:assert/strict";
import test from "node:test";
import { answerSeconds, grantSeconds, restartAttempts, rereadSeconds } from "#contract/times.ts";
import type { Step } from "./facts/step.ts";
import { World } from "./node.fixture.ts";

/** Just within a limit. */
const almost = (seconds: number) => seconds * 1000 - 1000;

function granted(probationSeconds: number): World {
  const world = new World();
  world.probation = probationSeconds * 1000;
  world.publish({ "b.io": "one" }, "apply");
  return world;
}

/** Steps for so many milliseconds, or until one of which the condition is true. */
function pass(world: World, milliseconds: number, isOver: (step: Step) => boolean = () => false) {
  const until = world.clock + milliseconds;
  let step = world.step();
  while (world.clock < until && !isOver(step)) step = world.step();
  return step;
}

/**
 * One restart that takes as long as it may: it ends on probation, which is almost over. A stop or
 * start that hangs has no time of its own.
 */
function restartSlowly(world: World, probationSeconds: number): void {
  world.fate = "hanging";
  pass(world, 120_000, () => world.unit.active === "activating");
  assert.equal(world.unit.active, "activating", "no restart was asked for");
  world.start("silent");
  pass(world, almost(answerSeconds));
  world.healthy = true;
  // It is counted from the start of the process, and lasts a second after the first answer.
  pass(world, Math.max(500, almost(probationSeconds - answerSeconds)));
}

for (const probationSeconds of [5, 180, 600])
  test(`an agent that restarts as slowly as it may is in time, with a probation of ${probationSeconds} s`, () => {
    for (const isLast of ["up", "failed"] as const) {
      const world = granted(probationSeconds);
      const from = world.clock;
      for (let attempt = 1; attempt <= restartAttempts; attempt += 1) {
        restartSlowly(world, probationSeconds);
        if (attempt < restartAttempts) world.start("failed");
      }
      if (isLast === "failed") world.start("failed");
      world.fate = "up";
      const { code } = pass(world, 3_600_000, (step) => step.ready || step.code === "GPS216");
      const seconds = (world.clock - from) / 1000;
      assert.equal(code, isLast === "up" ? "GPS200" : "GPS216");
      const limit = grantSeconds("Restart", probationSeconds);
      assert.ok(seconds < limit && seconds > limit - 450, `${seconds} s of ${limit} s`);
    }
  });

test("an agent whose kubelet rereads the file is in time", () => {
  for (const mode of ["Restart", "Reread"] as const) {
    const world = granted(1);
    world.restart = "Never";
    const from = world.clock;
    pass(world, 3_600_000, (step) => step.ready);
    const seconds = (world.clock - from) / 1000;
    assert.ok(seconds >= rereadSeconds && seconds < grantSeconds(mode, 1));
  }
});

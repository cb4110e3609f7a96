/** A controller that is killed at random moments of a rollout and of a removal. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { until } from "../cluster/await.ts";
import { seeded } from "../random.ts";
import * as plane from "./plane.ts";
import { content, paths } from "./plane.ts";
import { begunAfter, kubelets, names, on, running, start, undeclare } from "./rig.ts";

/**
 * `kills`: the largest number of kills in each phase. A controller is killed 0.7 to 3.7 seconds
 * after its start.
 */
export async function killedAtRandom(context: TestContext, kills: number): Promise<void> {
  const random = seeded(context);
  const disturb = async (done: () => Promise<boolean>) => {
    for (let kill = 0; kill < kills && !(await done()); kill++) {
      const controller = await start(1);
      const begun = Date.now();
      const life = 700 + random.fraction() * 3000;
      await until("it is time for the kill", () => Date.now() - begun > life, { every: 20 });
      await controller.kill();
      await plane.freeLease(on);
    }
    await start(1);
  };
  await plane.declare(on, content("one"));
  await disturb(async () =>
    (await plane.eventsOf(on)).some(({ reason }) => reason === "RolledOut"),
  );
  const revision = await plane.untilPublished(on, content("one"));
  await plane.untilRolledOut(on, revision);
  assert.deepEqual(kubelets.order(revision).toSorted(), names);
  assert.equal(kubelets.mostAtOnce, 1);
  for (const controller of running.splice(0)) await controller[Symbol.asyncDispose]();
  await undeclare();
  await disturb(async () => (await on.api.get(paths.global)) === undefined);
  await plane.untilGone(on);
  assert.deepEqual(begunAfter(revision), names);
}

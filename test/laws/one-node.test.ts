/** One node never delays the others by more than its usual time, and no publication or removal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { die } from "./events.ts";
import {
  churnFor,
  edit,
  firstAsked,
  servedCluster,
  untilAllHaveIt,
  untilRemoved,
} from "./scene.ts";
import { reactionSeconds, usualTime } from "./truth.ts";
import { only, wantedContent, type Machine, type World } from "./world.ts";

const nodes = 40;

const troubles: Readonly<Record<string, (machine: Machine, world: World) => void>> = {
  freezes: (machine) => void (machine.frozenUntil = Infinity),
  dies: (machine, world) => die(world, machine),
  "cannot take it": (machine) => void (machine.unfitUntil = Infinity),
  "is slow": (machine) => void (machine.slowUntil = Infinity),
  "cannot reach the API server": (machine) => void (machine.agentOfflineUntil = Infinity),
};

/** How long a change of 40 healthy nodes takes. */
function undisturbed(): number {
  const run = servedCluster(nodes);
  edit(run.world);
  return untilAllHaveIt(run, []);
}

const usually = undisturbed();

for (const [trouble, apply] of Object.entries(troubles)) {
  test(`delays the others by at most its usual time if the first node ${trouble}`, () => {
    const run = servedCluster(nodes);
    const first = firstAsked(run, edit);
    apply(first, run.world);
    const took = untilAllHaveIt(run, [first]);
    const most = usually + usualTime(run.world) + reactionSeconds;
    assert.ok(took <= most, `${took} s instead of ${usually} s`);
    assert.equal(run.laws.truth.halts, 0);
  });

  test(`publishes newer content at once if the first node ${trouble}`, () => {
    const run = servedCluster(nodes);
    const { world } = run;
    const first = firstAsked(run, edit);
    apply(first, world);
    run.until(() => false, 60);
    edit(world);
    const isPublished = () => world.secrets.get(only)?.content === wantedContent(world);
    assert.ok((run.until(isPublished, 5) ?? Infinity) <= 2);
    const took = untilAllHaveIt(run, [first]);
    const most = usually + usualTime(world) + reactionSeconds;
    assert.ok(took <= most, `${took} s instead of ${usually} s`);
  });

  for (const [what, remove] of [
    ["one registry", (world: World) => void (world.source.b = 0)],
    ["everything", (world: World) => void (world.source = { a: 0, b: 0 })],
  ] as const)
    test(`removes ${what} from all others within seconds if the first node ${trouble}`, () => {
      const run = servedCluster(nodes);
      const first = firstAsked(run, edit);
      apply(first, run.world);
      run.until(() => false, 30);
      remove(run.world);
      const took = untilRemoved(run, [first]);
      // A node that is changing its file ends the change before: a restart and the probation.
      assert.ok(took <= 2 * reactionSeconds, `${took} s`);
    });
}

for (const seconds of [300, 40])
  test(`does not halt content that changes every ${seconds} s while a cloud replaces a fleet's oldest machines one by one`, () => {
    // As fast as in a cluster of 1,000 nodes of which half are replaced in an hour.
    const run = servedCluster(100, { cloud: "fast" });
    for (let change = 1; change <= 6; change += 1) {
      edit(run.world);
      churnFor(run, 5, seconds, "oldest");
    }
    assert.equal(run.laws.truth.halts, 0);
  });

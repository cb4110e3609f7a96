/**
 * The laws of laws.test.ts for thousands of random runs, and for large clusters under the default
 * policy, of which half of the machines are replaced in an hour. Every machine that leaves dies
 * silently, so Kubernetes notices it 40 s later.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seeded } from "#test/random.ts";
import type { Leaving } from "./events.ts";
import { missing, playAll } from "./run.ts";
import { churnFor, edit, servedCluster, underChurn, untilRemoved } from "./scene.ts";
import type { Cloud } from "./world.ts";

const perHour = 0.5;
/** Seconds after which a change must be over on every node that lives. */
const most = 1200;

const clouds = [
  ["fast", "any"],
  ["late", "any"],
  ["fast", "oldest"],
] as const satisfies (readonly [Cloud, Leaving])[];

for (const nodes of [1000, 5000])
  for (const [cloud, who] of clouds)
    test(`ends six changes and a withdrawal of ${nodes} nodes, with a cloud that is ${cloud} and replaces ${who}`, (t) => {
      const run = servedCluster(nodes, { cloud });
      const { world, laws } = run;
      for (let change = 1; change <= 6; change += 1) {
        // Time for the bucket of publications.
        churnFor(run, perHour, 300, who);
        edit(world);
        const { over, promoted } = underChurn(run, perHour, most, who);
        t.diagnostic(`change ${change}: ${over} s, promoted after ${promoted} s`);
        assert.notEqual(over, undefined, missing(run, true));
        assert.ok((promoted ?? Infinity) <= 60, `joining nodes get it after ${promoted} s`);
      }
      assert.equal(laws.truth.halts, 0);
      world.source.a = 0;
      const removed = untilRemoved(run, []);
      assert.ok(removed <= 120, `one registry is removed after ${removed} s`);
      world.source.b = 0;
      const { over } = underChurn(run, perHour, 2400, who);
      t.diagnostic(`one registry is removed after ${removed} s, and everything after ${over} s`);
      assert.notEqual(over, undefined, "the withdrawal is not over");
    });

test("keeps every law over 10,000 random runs of up to 60 nodes", (t) => {
  playAll(seeded(t).below(1e6), 10_000, 60);
});

/** What a sample of stands in rollout.test.ts: many kills, two minutes. */
import { test } from "node:test";
import { killedAtRandom } from "./killed.ts";
import { rig } from "./rig.ts";

rig();

test("a controller killed ten times in a rollout, and in a removal, comes to the same end", (context) =>
  killedAtRandom(context, 10));

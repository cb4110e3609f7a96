/** GlobalPullSecret's status while many nodes change. */
import { test } from "node:test";
import { rig } from "./rig.ts";
import { spacedStatus } from "./spaced-status.ts";

rig();

test("writes status at most once a second while 50 nodes change, and never at rest", () =>
  spacedStatus(50));

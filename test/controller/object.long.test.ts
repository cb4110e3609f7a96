/** GlobalPullSecret's status where many nodes change. */
import { test } from "node:test";
import { rig } from "./rig.ts";
import { spacedStatus } from "./spaced-status.ts";

rig();

test("50 nodes: status is written once a second at most while they change, and never at rest", () =>
  spacedStatus(50));

/** clusters.test.ts with up to 5,000 nodes. */
import { test } from "node:test";
import { churnTable } from "#test/model/churn-table.ts";

test("begins and completes every change and withdrawal in a large cluster whose nodes are replaced", () => {
  churnTable([
    { nodes: 1000, churn: 0.5 },
    { nodes: 5000, churn: 0.1 },
  ]);
});

/** What clusters.test.ts does, with up to 5,000 nodes. */
import { test } from "node:test";
import { churnTable } from "#test/model/churn-table.ts";

test("begins and ends every change and withdrawal of a large cluster whose nodes are replaced", () => {
  churnTable([
    { nodes: 1000, churn: 0.5 },
    { nodes: 5000, churn: 0.1 },
  ]);
});

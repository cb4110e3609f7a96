import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { bootsNodes, lanes } from "./lanes.ts";

test("each file runs in one lane, and no lane is empty", () => {
  const both = lanes(["a", "b", "c"], {}, (file) => file === "b");
  assert.deepEqual(
    both.map(({ name, files }) => [name, files]),
    [
      ["nodes", ["b"]],
      ["others", ["a", "c"]],
    ],
  );
  assert.equal(lanes(["a"], {}, () => false).length, 1);
});

test("the lane of clusters with nodes takes others until both are as long", () => {
  const took = { nodes: 100, a: 300, b: 90, c: 20 };
  const both = lanes(["nodes", "a", "b", "c"], took, (file) => file === "nodes");
  assert.deepEqual(
    both.map(({ files }) => files),
    [["nodes", "c", "b"], ["a"]],
  );
});

test("what boots nodes is told from what has none", () => {
  for (const file of globSync("test/e2e/*.test.ts")) assert.ok(bootsNodes(file), file);
  for (const word of ["kill", "power", "disk", "trouble"])
    assert.ok(!bootsNodes(`test/faults/${word}.test.ts`), word);
  assert.ok(!bootsNodes("test/controller/rollout.test.ts"));
  // By what they import alone.
  for (const file of [
    "faults/one-node.test.ts",
    "faults/older.long.test.ts",
    "e2e/staged.long.test.ts",
  ])
    assert.ok(bootsNodes(`test/${file}`), file);
  assert.ok(!bootsNodes("test/fleet/fleet.test.ts"));
});

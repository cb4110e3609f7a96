import assert from "node:assert/strict";
import { test } from "node:test";
import { unreachableNode, fakeNode } from "./fake-node.ts";

test("makes a simulated node as large as a real one: 18 kB, to which the API server adds 2 kB", () => {
  for (const node of [fakeNode("fake-1"), fakeNode("fake-5000"), unreachableNode("dead-1")]) {
    const bytes = JSON.stringify(node).length;
    assert.ok(bytes > 17_000 && bytes < 19_000, `${bytes} bytes`);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { unreachableNode, fakeNode } from "./fake-node.ts";

// A real node has 20 kB. The API server adds 2 kB to what a client writes.
test("makes a simulated node of 17 to 19 kB", () => {
  for (const node of [fakeNode("fake-1"), fakeNode("fake-5000"), unreachableNode("dead-1")]) {
    const bytes = JSON.stringify(node).length;
    assert.ok(bytes > 17_000 && bytes < 19_000, `${bytes} bytes`);
  }
});

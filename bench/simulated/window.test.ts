import assert from "node:assert/strict";
import { test } from "node:test";
import { digestAnnotation, revisionAnnotation, sinceAnnotation } from "#contract/names.ts";
import type { ModelNode } from "#test/harness/nodes/nodes.ts";
import { stateOf } from "./window.ts";

/** A node whose pod is granted `grant` and Ready (since 10 or 20), with `revision` in force. */
function node(grant: number, revision: number, ready: number | undefined): ModelNode {
  const annotations = {
    [revisionAnnotation]: String(grant),
    [digestAnnotation]: "0".repeat(64),
    [sinceAnnotation]: new Date(10_000).toISOString(),
  };
  const state = { ready: { is: ready !== undefined, since: ready ?? 15 } };
  const journal = { revision, digest: "d" };
  return { journal, pods: [{ annotations, state }] } as unknown as ModelNode;
}

const table = [
  ["a node without the grant waits", 1, 1, 10, "waiting"],
  ["a node that is not Ready cannot get the grant", 1, 1, undefined, "done"],
  ["a node that took the revision when it joined is done", 1, 2, 10, "done"],
  ["a node that has the grant but has not seen it is open", 2, 1, 10, "open"],
  ["a node that restarts its kubelet is open", 2, 2, undefined, "open"],
  ["a node that was last Ready before the grant is open", 2, 2, 10, "open"],
  ["a node that is Ready again is done", 2, 2, 20, "done"],
] as const;

for (const [what, grant, revision, ready, expected] of table)
  test(`the window: ${what}`, () => {
    assert.equal(stateOf(node(grant, revision, ready), 2), expected);
  });

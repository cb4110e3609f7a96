import assert from "node:assert/strict";
import { test } from "node:test";
import { digestAnnotation, revisionAnnotation, sinceAnnotation } from "#contract/names.ts";
import type { ModelNode, PodState } from "#test/harness/nodes/nodes.ts";
import { stateOf } from "./window.ts";

/** A node whose pod has this grant, and whose journal has this revision. */
function node(grant: number, revision: number): ModelNode {
  const annotations = {
    [revisionAnnotation]: String(grant),
    [digestAnnotation]: "0".repeat(64),
    [sinceAnnotation]: new Date(10_000).toISOString(),
  };
  return { journal: { revision, digest: "d" }, pods: [{ annotations }] } as unknown as ModelNode;
}

/** The state of a pod that the API server shows as Ready since this second. */
const ready = (since: number | undefined): PodState =>
  ({ ready: { is: since !== undefined, since: since ?? 15 } }) as PodState;

const table = [
  ["a node without the grant waits", 1, 1, 10, "waiting"],
  ["a node that is not Ready is done, because it cannot get the grant", 1, 1, undefined, "done"],
  ["a node that took the revision when it joined is done", 1, 2, 10, "done"],
  ["a node that has the grant but has not applied it is open", 2, 1, 10, "open"],
  ["a node that restarts its kubelet is open", 2, 2, undefined, "open"],
  ["a node that is Ready since before the grant is open", 2, 2, 10, "open"],
  ["a node that is Ready again for 2 s is open", 2, 2, 21, "open"],
  ["a node that is Ready again for 3 s is done", 2, 2, 20, "done"],
] as const;

for (const [what, grant, revision, since, expected] of table)
  test(`the window: ${what}`, () => {
    assert.equal(stateOf(node(grant, revision), 2, ready(since), 23_000), expected);
  });

test("the window: a node whose report has not reached the API server is open", () => {
  assert.equal(stateOf(node(2, 2), 2, undefined, 23_000), "open");
});

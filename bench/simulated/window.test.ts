import assert from "node:assert/strict";
import { test } from "node:test";
import type { Report } from "#contract/order.ts";
import { agent } from "#test/harness/nodes/agent.ts";
import { NodesModel } from "#test/harness/nodes/nodes.ts";
import { stateOf } from "./window.ts";

const table = [
  ["a node that was not asked waits", { reported: 1 }, "waiting"],
  ["a node whose agent has reported nothing waits", {}, "waiting"],
  ["a node that took the revision when it joined is done", { reported: 2 }, "done"],
  ["a node that was asked and has not answered is open", { asked: 2, reported: 1 }, "open"],
  ["a node that was asked for an older revision waits", { asked: 1 }, "waiting"],
  ["a node that has answered is done", { asked: 2, reported: 2, answers: true }, "done"],
  ["a node whose agent does not run is done", { isStarted: false }, "done"],
  ["a dead node is done", { asked: 2, isSilent: true }, "done"],
] as const;

type Case = Readonly<{
  asked?: number;
  reported?: number;
  answers?: boolean;
  isStarted?: boolean;
  isSilent?: boolean;
}>;

for (const [what, each, expected] of table)
  test(`the window: ${what}`, () => {
    const { asked, reported, answers = false, isStarted = true, isSilent = false }: Case = each;
    const model = new NodesModel(agent);
    const node = model.join();
    model.place(node, { hash: "a" });
    if (isStarted) model.kubelet(node);
    node.isSilent = isSilent;
    if (asked !== undefined) node.order = { revision: asked, digest: "d", attempt: 7 };
    if (reported !== undefined)
      node.report = { revision: reported, attempt: answers ? 7 : 0 } as unknown as Report;
    assert.equal(stateOf(node, 2), expected);
  });

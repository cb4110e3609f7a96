import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "./kube.ts";
import { countAgents, survey } from "./survey.ts";

const now = Date.parse("2026-11-21T12:00:00Z");
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const mark = { revision: 3, digest: "d", complete: false };

const node = (name: string, status: string, since = 1000) => ({
  metadata: { name },
  status: { conditions: [{ type: "Ready", status, lastTransitionTime: ago(since) }] },
});

type Pod = {
  node?: string;
  revision?: string;
  digest?: string;
  ready?: number;
  well?: number;
  message?: string;
  exitCode?: number;
  deleted?: number;
};
const pod = ({ node, revision = "3", digest = "d", ready, well, message, exitCode = 1, deleted }: Pod) => ({
  metadata: {
    creationTimestamp: ago(300),
    annotations: { "global-pull-secret/revision": revision, "global-pull-secret/template": digest },
    ...(deleted === undefined ? {} : { deletionTimestamp: ago(deleted) }),
  },
  spec: { nodeName: node },
  status: {
    conditions: [
      { type: "Ready", status: ready === undefined ? "False" : "True", lastTransitionTime: ago(ready ?? 0) },
      { type: "ContainersReady", status: well === undefined ? "False" : "True", lastTransitionTime: ago(well ?? 0) },
    ],
    containerStatuses: [
      message === undefined
        ? { ready: well !== undefined, state: { running: {} } }
        : {
            ready: false,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { message, exitCode } },
          },
    ],
  },
});

/** Serves one item per page, so that what is folded cannot depend on the page. */
function serving(nodes: readonly object[], pods: readonly object[]): Cluster {
  const pages = async (path: string, _: object, each: (items: readonly object[]) => void) => {
    for (const item of path === "/api/v1/nodes" ? nodes : pods) each([item]);
  };
  return { pages } as unknown as Cluster;
}

async function one(theNode: object, ...pods: readonly Pod[]) {
  const [found] = await survey(
    serving(
      [theNode],
      pods.map((facts) => pod({ node: "a", ...facts })),
    ),
    mark,
    now,
  );
  assert.ok(found);
  return found;
}

test("available is Ready for 3 s, not less", async () => {
  assert.equal((await one(node("a", "True"), { ready: 3 })).agent?.available, true);
  assert.equal((await one(node("a", "True"), { ready: 2 })).agent?.available, false);
});

test("a pod of another revision or another agent is not current", async () => {
  assert.equal((await one(node("a", "True"), {})).agent?.current, true);
  assert.equal((await one(node("a", "True"), { revision: "2" })).agent?.current, false);
  assert.equal((await one(node("a", "True"), { digest: "e" })).agent?.current, false);
});

test("a node is silent when its kubelet is not heard of, or has been not Ready for a minute", async () => {
  assert.equal((await one(node("a", "True"))).silent, false);
  assert.equal((await one(node("a", "Unknown", 1))).silent, true);
  assert.equal((await one(node("a", "False", 59))).silent, false);
  assert.equal((await one(node("a", "False", 60))).silent, true);
  assert.equal((await one({ metadata: { name: "a" } })).silent, true);
});

test("an agent proved its revision when it was well for a minute before its node was called silent", async () => {
  assert.equal((await one(node("a", "Unknown", 100), { well: 160 })).agent?.proved, true);
  assert.equal((await one(node("a", "Unknown", 100), { well: 159 })).agent?.proved, false);
  assert.equal((await one(node("a", "Unknown", 100), {})).agent?.proved, false);
});

test("nobody is suspected of a revision that every node had, nor of one that touches nothing", async () => {
  const cluster = serving([node("a", "Unknown", 1)], [pod({ node: "a", well: 2 })]);
  const [found] = await survey(cluster, { ...mark, complete: true }, now);
  assert.equal(found?.agent?.proved, true);
  const [unborn] = await survey(cluster, { ...mark, revision: 0 }, now);
  assert.equal(unborn?.agent?.proved, true);
});

test("the agent's last words are taken, one line, bounded", async () => {
  const { agent } = await one(node("a", "True"), { message: `GPS203 ${"x".repeat(400)}\nsecond` });
  assert.equal(agent?.message?.length, 300);
  assert.equal(agent.started, true);
  assert.equal(agent.gaveUp, true);
});

test("an agent that was killed (137) or told to stop (0) has not given up, whatever it said last", async () => {
  for (const exitCode of [0, 2, 137]) {
    assert.equal((await one(node("a", "True"), { message: "GPS212 owed", exitCode })).agent?.gaveUp, false);
  }
});

test("an agent that goes away is no agent; an ill node is given time for its next one, a silent one is not", async () => {
  assert.equal((await one(node("a", "True"), { deleted: -30 })).agent, undefined);
  assert.equal((await one(node("a", "True"), { deleted: -30 }, { ready: 9 })).agent?.available, true);
  assert.equal((await one(node("a", "False"), { deleted: -30 })).silent, false);
  assert.equal((await one(node("a", "False"), { deleted: 60 })).silent, true);
  assert.equal((await one(node("a", "Unknown"), { deleted: -30 })).silent, true);
});

test("pods of nodes that are gone are not counted, and of silent ones not waited for", async () => {
  const cluster = serving(
    [node("a", "True"), node("b", "Unknown")],
    [pod({ node: "a" }), pod({ node: "b" }), pod({ node: "gone" })],
  );
  assert.equal((await survey(cluster, mark, now)).length, 2);
  assert.equal(await countAgents(cluster), 1);
});

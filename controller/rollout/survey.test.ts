import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#kube/client/cluster.ts";
import { agent } from "#controller/objects/daemonset/agent.fixture.ts";
import { nodesOf } from "#controller/objects/daemonset/placement.ts";
import { glance, survey } from "./survey.ts";

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
  prospect?: string;
};
const pod = ({
  node,
  revision = "3",
  digest = "d",
  ready,
  well,
  message,
  exitCode = 1,
  deleted,
  prospect,
}: Pod) => ({
  metadata: {
    creationTimestamp: ago(300),
    ownerReferences: [{ kind: "DaemonSet", name: "global-pull-secret-syncer", controller: true }],
    annotations: {
      "globalpullsecret.io/revision": revision,
      "globalpullsecret.io/template": digest,
    },
    ...(deleted === undefined ? {} : { deletionTimestamp: ago(deleted) }),
  },
  spec: { nodeName: node },
  status: {
    conditions: [
      {
        type: "Ready",
        status: ready === undefined ? "False" : "True",
        lastTransitionTime: ago(ready ?? 0),
      },
      {
        type: "ContainersReady",
        status: well === undefined ? "False" : "True",
        lastTransitionTime: ago(well ?? 0),
      },
    ],
    initContainerStatuses: [
      { name: "someone's", state: { terminated: { message: "provider: Preinstalled" } } },
      { name: "look", state: { terminated: { message: prospect } } },
    ],
    containerStatuses: [
      {
        name: "someone's",
        ready: true,
        state: { running: {} },
        lastState: { terminated: { exitCode: 1 } },
      },
      message === undefined
        ? { name: "agent", ready: well !== undefined, state: { running: {} } }
        : {
            name: "agent",
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
    agent,
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

test("what a node could have is said by the last words of our first container, and by nothing else", async () => {
  const said = async (prospect?: string) =>
    (await one(node("a", "True"), prospect === undefined ? {} : { prospect })).agent?.prospects;
  assert.deepEqual(await said("provider: Agent"), ["Agent"]);
  assert.deepEqual(await said("provider: Preinstalled"), ["Preinstalled"]);
  assert.deepEqual(await said("provider: Agent, Preinstalled"), ["Agent", "Preinstalled"]);
  assert.deepEqual(await said("provider: none, it has no kubeadm-flags.env"), []);
  assert.deepEqual(await said("provider: Agent and more"), []);
  assert.deepEqual(await said("Agent"), []);
  assert.deepEqual(await said(), []);
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

test("no agent is suspect under a revision that every node had, nor under one that touches nothing", async () => {
  const cluster = serving([node("a", "Unknown", 1)], [pod({ node: "a", well: 2 })]);
  const [found] = await survey(cluster, agent, { ...mark, complete: true }, now);
  assert.equal(found?.agent?.proved, true);
  const [unborn] = await survey(cluster, agent, { ...mark, revision: 0 }, now);
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
    assert.equal(
      (await one(node("a", "True"), { message: "GPS212 owed", exitCode })).agent?.gaveUp,
      false,
    );
  }
});

test("an agent that goes away is no agent; an ill node is given time for its next one, a silent one is not", async () => {
  assert.equal((await one(node("a", "True"), { deleted: -30 })).agent, undefined);
  assert.equal(
    (await one(node("a", "True"), { deleted: -30 }, { ready: 9 })).agent?.available,
    true,
  );
  assert.equal((await one(node("a", "False"), { deleted: -30 })).silent, false);
  assert.equal((await one(node("a", "False"), { deleted: 60 })).silent, true);
  assert.equal((await one(node("a", "Unknown"), { deleted: -30 })).silent, true);
});

test("pods of nodes that are gone are not counted", async () => {
  const cluster = serving(
    [node("a", "True"), node("b", "Unknown")],
    [pod({ node: "a" }), pod({ node: "b" }), pod({ node: "gone" })],
  );
  assert.equal((await survey(cluster, agent, mark, now)).length, 2);
});

test("a pod that only carries the agents' label is no agent", async () => {
  const stranger = {
    ...pod({ node: "a", ready: 9 }),
    metadata: { labels: { name: "global-pull-secret-syncer" } },
  };
  const [found] = await survey(serving([node("a", "True")], [stranger]), agent, mark, now);
  assert.equal(found?.agent, undefined);
});

test("given back is what the container's own last word says, of its pod's revision and no other", async () => {
  const said = async (message: string, exitCode = 0, revision = "3") =>
    (await one(node("a", "True"), { message, exitCode, revision })).agent?.gaveBack;
  const word = "GPS224 withdrawn: the node is as it was before (revision 3)";
  assert.equal(await said(word), true);
  assert.equal(await said(word, 1), false);
  assert.equal(await said(word, 0, "30"), false);
  assert.equal(await said("GPS224 withdrawn (revision 2)"), false);
  assert.equal(await said("GPS200 in force (revision 3)"), false);
  assert.equal((await one(node("a", "True"), { ready: 9 })).agent?.gaveBack, false);
});

test("in a wave only what has ended and is not Ready is suspicious, as the rows say that kubectl prints", async () => {
  const rows = [
    ["a", "1/1", "Running", "0"],
    ["b", "0/1", "Running", "0"],
    ["c", "0/1", "CrashLoopBackOff", "1 (5s ago)"],
    ["d", "0/1", "Error", "0"],
    ["e", "1/1", "Running", "3 (2d ago)"],
    ["f", "0/1", "Running", "2"],
    ["g", "0/1", "ContainerCreating", "0"],
  ].map((cells) => ({ cells }));
  const cluster = {
    pages: async (_: string, __: object, each: (items: object[]) => void) => each(rows),
  };
  assert.deepEqual(await glance(cluster as unknown as Cluster), ["c/1", "d/0", "f/2"]);
});

test("only the nodes that get an agent are asked for, so that no other is missed", async () => {
  const asked: string[] = [];
  const pages = async (path: string, { labelSelector = "" }: { labelSelector?: string }) => {
    if (path === "/api/v1/nodes") asked.push(labelSelector);
  };
  await survey({ pages } as unknown as Cluster, agent, mark, now);
  assert.deepEqual(asked, [nodesOf(agent)]);
});

/**
 * The node that the tests of one file share, because a boot takes as long as most tests. Each test
 * begins with `fresh`, which removes everything that the previous test left or broke. Revision
 * numbers continue from test to test, because the node's object has the reports of earlier tests.
 */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { until } from "../cluster/await.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import type { Node as Machine } from "../cluster/node.ts";
import { Inside } from "./inside.ts";
import { content } from "./place.ts";

type Shared = {
  readonly machine: Machine;
  readonly inside: Inside;
  /** The revision that was mounted last. */
  revision: number;
};

let cluster: Cluster | undefined;
let shared: Shared | undefined;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  const [machine] = cluster.nodes;
  assert.ok(machine);
  shared = { machine, inside: await Inside.on(machine, cluster), revision: 0 };
});
after(() => {
  shared?.inside[Symbol.dispose]();
  cluster?.down();
});

export function sharedNode(): Shared {
  assert.ok(shared, "the node is not up");
  return shared;
}

/** Resets the node to a state without traces of an agent, with the next revision mounted. */
export async function fresh(): Promise<Readonly<{ inside: Inside; revision: number }>> {
  const node = sharedNode();
  await node.inside.fresh();
  node.revision += 1;
  node.inside.node.mount(node.revision, content);
  return node;
}

/**
 * Calls `fresh`, starts an agent, and returns during the kubelet restart that the agent has
 * requested. This restart takes three seconds.
 */
export async function duringRestart(): ReturnType<typeof fresh> {
  const agent = await fresh();
  const { inside, revision } = agent;
  await inside.machine.breakKubelet("[Service]\nExecStartPre=/bin/sleep 3\n");
  const old = await inside.kubelet();
  await inside.start(revision);
  const isAnother = async () => (await inside.kubelet()).InvocationID !== old.InvocationID;
  await until("the restart is in progress", isAnother, { every: 50 });
  return agent;
}

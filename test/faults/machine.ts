/**
 * The node that the tests of one file share: a boot takes as long as most of them. Each begins with
 * `fresh`, whatever the one before left or broke. Revisions go on counting: what an agent did is
 * read from the node's journal by its revision.
 */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { until } from "../cluster/await.ts";
import type { Inside } from "./inside.ts";
import { content } from "./place.ts";
import { Registrant } from "./registrant.ts";

let shared: Registrant | undefined;

before(async () => {
  shared = await Registrant.start();
});
after(() => shared?.[Symbol.dispose]());

export function registrant(): Registrant {
  assert.ok(shared, "the node is not up");
  return shared;
}

/** The node as one that has never seen an agent, with the next revision mounted. */
export async function fresh(): Promise<Readonly<{ inside: Inside; revision: number }>> {
  const agent = registrant();
  await agent.inside.fresh();
  agent.revision += 1;
  agent.inside.node.mount(agent.revision, content);
  return agent;
}

/** The same, with the restart that the agent requested under way: it takes three seconds. */
export async function inMidRestart(): ReturnType<typeof fresh> {
  const agent = await fresh();
  const { inside, revision } = agent;
  await inside.machine.breakKubelet("[Service]\nExecStartPre=/bin/sleep 3\n");
  const old = await inside.kubelet();
  await inside.start(revision);
  const isAnother = async () => (await inside.kubelet()).InvocationID !== old.InvocationID;
  await until("the restart is under way", isAnother, { every: 50 });
  return agent;
}

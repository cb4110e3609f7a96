/** A control plane with three simulated nodes. Each test starts controllers with its own flags. */
import { after, afterEach, before } from "node:test";
import assert from "node:assert/strict";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { until } from "#test/cluster/await.ts";
import * as plane from "./plane.ts";
import { content } from "./plane.ts";
import { steer, untilAvailable, type Settings } from "./steer.ts";

export let on: plane.Plane;
export let kubelets: NodesDriver;
/**
 * The running controllers of a test. A test that stops a controller itself removes the controller
 * from the list.
 */
export const running: plane.Controller[] = [];
export const names = ["a", "b", "c"];

/**
 * Call this once in a test file. It starts everything before the first test, and cleans up after
 * each test.
 */
export function rig(): void {
  before(async () => {
    on = await plane.startPlane();
    kubelets = new NodesDriver(on.api).start();
    for (const name of names) await kubelets.add(name);
  });
  after(async () => {
    for (const controller of running) await controller[Symbol.asyncDispose]();
    await kubelets[Symbol.asyncDispose]();
    await on[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    kubelets.behaviour = () => "ready";
    for (const controller of running.splice(0)) await controller[Symbol.asyncDispose]();
    await kubelets.reset(names);
    await plane.wipe(on);
    kubelets.forget();
  });
}

/**
 * Writes the policy first and then starts a controller, so that the controller begins with this
 * policy.
 */
export async function start(
  settings: Settings = {},
  ...flags: string[]
): Promise<plane.Controller> {
  await steer(on, settings);
  const controller = plane.startController(on.kubeconfig, ...flags);
  running.push(controller);
  return controller;
}

export const undeclare = () =>
  on.cluster.kubectl("delete", "secret", "additional-pull-secret", "-n", "kube-system");
export const started = (revision: number) => kubelets.order(revision).length;
/** The nodes whose agents have begun with a later revision than this, sorted. */
export const begunAfter = (revision: number): string[] =>
  kubelets.starts
    .filter((start) => start.revision > revision)
    .map(({ node }) => node)
    .toSorted();
/** The nodes of the agents' pods that are not being deleted. */
export const agents = async (): Promise<string[]> =>
  (await plane.agents(on))
    .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
    .map(({ spec }) => spec?.nodeName ?? "");
/** The number of nodes without a Ready agent. */
export const unready = (): number =>
  kubelets.model.nodes.filter(
    ({ pods }) => !pods.some(({ state, deletedAt }) => deletedAt === undefined && state.ready.is),
  ).length;
export const deployed = (word = "one") => plane.deployed(on, content(word));
/** Declares a content, and waits until it is published. Returns its revision. */
export async function published(word: string): Promise<number> {
  await plane.declare(on, content(word));
  return await plane.untilPublished(on, content(word));
}
/**
 * Rolls out the first content to all nodes at once, then starts a controller with this policy and
 * these flags. For tests that begin after a rollout.
 */
export async function served(settings: Settings = {}, ...flags: string[]): Promise<number> {
  await start("100%");
  const revision = await deployed();
  for (const controller of running.splice(0)) await controller.stop();
  kubelets.mostAtOnce = 0;
  await start(settings, ...flags);
  return revision;
}

/** The UIDs of the agents' pods, sorted. */
export const uids = async () =>
  (await plane.agents(on)).map(({ metadata }) => metadata?.uid ?? "").toSorted();

/** Waits until every agent's pod is replaced. Never more than one node is without a Ready agent. */
export async function untilReplaced(before: readonly string[]): Promise<void> {
  let most = 0;
  const isReplaced = async () => {
    const now = await uids();
    most = Math.max(most, unready());
    return now.length === names.length && !now.some((uid) => before.includes(uid));
  };
  await until("every pod was replaced", isReplaced, { timeout: 240_000 });
  assert.ok(most <= 1, `${most} nodes without a Ready agent`);
}

/** How often each node's kubelet was restarted. */
export const restarts = () => kubelets.model.nodes.map((node) => node.restarts.length);

/**
 * Rolls out the first content, and waits until the agents are available: the DaemonSet controller
 * replaces pods that are not available whatever the budget.
 */
export async function servedForLong(): Promise<number> {
  const revision = await served(1);
  await untilAvailable(on);
  return revision;
}

/** Starts a controller with these flags, and stops the first one, which then releases the Lease. */
export async function replaceController(...flags: readonly string[]): Promise<void> {
  await start(1, ...flags);
  const [first] = running.splice(0, 1);
  await first?.stop();
}

/** Measures how much of the rollout's window is in use while other nodes wait. */
import { setTimeout as sleep } from "node:timers/promises";
import { isAtWork } from "#test/harness/nodes/agent.ts";
import { isRunning, type ModelNode } from "#test/harness/nodes/nodes.ts";
import type { Simulated } from "./simulated.ts";

/** States of a node: asked and not answered (open), not asked (waiting), neither (done). */
type WindowState = "open" | "waiting" | "done";

export function stateOf(node: ModelNode, revision: number): WindowState {
  const { order, report, pods } = node;
  if ((order?.revision ?? 0) >= revision && isAtWork(node)) return "open";
  const hasAgent =
    isRunning(node) && pods.some(({ state }) => state.container.startedAt !== undefined);
  // The controller asks nothing of a node whose agent does not run, such as a joining node.
  return hasAgent && (report?.revision ?? 0) < revision ? "waiting" : "done";
}

/**
 * Samples the window five times a second, starting when more than one node is asked. Returns the
 * used share, 0 to 1, for each sample in which nodes waited. `size`: the policy's budget. While few
 * nodes have proved the revision, the window is smaller.
 */
export async function sampleWindow(
  { driver }: Simulated,
  revision: () => number | undefined,
  size: number,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const shares: number[] = [];
  let isWide = false;
  while (!signal.aborted) {
    await sleep(200);
    const sought = revision();
    if (sought === undefined) continue;
    const { nodes } = driver.model;
    const states = nodes.map((node) => stateOf(node, sought));
    const count = (state: WindowState) => states.filter((other) => other === state).length;
    const [open, waiting] = [count("open"), count("waiting")];
    const proved = nodes.filter(
      ({ report }) => report?.result === "Proved" && report.revision === sought,
    );
    const places = Math.min(size, 1 + 2 * proved.length, open + waiting);
    isWide ||= open > 1;
    if (isWide && waiting > 0) shares.push(Math.min(1, open / places));
  }
  return shares;
}

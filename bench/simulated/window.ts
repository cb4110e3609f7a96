/** How much of the rollout's window is used while nodes wait for it. */
import { setTimeout as sleep } from "node:timers/promises";
import { grantOf } from "#contract/grant.ts";
import type { ModelNode } from "#test/harness/nodes/nodes.ts";
import type { Simulated } from "./simulated.ts";

/** Nodes by their state with a revision: granted and not proved, not granted, and neither. */
type WindowState = "open" | "waiting" | "done";

export function stateOf({ journal, pods }: ModelNode, revision: number): WindowState {
  const pod = pods.at(-1);
  const grant = grantOf(pod?.annotations);
  const isReady = pod?.state.ready.is === true;
  const has = journal?.begun === undefined && (journal?.revision ?? 0) >= revision;
  if (grant === undefined || grant.revision < revision)
    // A node that joins takes the content by itself, or is granted it once its agent runs.
    return isReady && !has ? "waiting" : "done";
  const since = Math.floor(pod?.state.ready.since ?? 0) * 1000;
  return has && isReady && since !== Date.parse(grant.since) ? "done" : "open";
}

/**
 * Samples it five times a second from when more than the first node is granted the revision.
 * Returns the shares, 0 to 1, for each moment in which nodes waited.
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
    const states = driver.model.nodes.map((node) => stateOf(node, sought));
    const count = (state: WindowState) => states.filter((one) => one === state).length;
    const [open, waiting] = [count("open"), count("waiting")];
    isWide ||= open > 1;
    if (isWide && waiting > 0) shares.push(Math.min(1, open / Math.min(size, open + waiting)));
  }
  return shares;
}

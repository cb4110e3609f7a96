/** Measures how much of the rollout's window is in use while other nodes wait. */
import { setTimeout as sleep } from "node:timers/promises";
import { grantOf } from "#contract/grant.ts";
import type { ModelNode, PodState } from "#test/harness/nodes/nodes.ts";
import type { Simulated } from "./simulated.ts";

/** States of a node: granted and not proved (open), not granted (waiting), neither (done). */
type WindowState = "open" | "waiting" | "done";

/** A pod must be Ready for this long, in seconds, before it proves its grant. */
const provedAfter = 3;

/**
 * `reported`: the state of the node's newest pod in the API server, because the controller reads
 * nothing else. `now`: milliseconds.
 */
export function stateOf(
  { journal, pods }: ModelNode,
  revision: number,
  reported: PodState | undefined,
  now: number,
): WindowState {
  const grant = grantOf(pods.at(-1)?.annotations);
  const isReady = reported?.ready.is === true;
  const has = journal?.begun === undefined && (journal?.revision ?? 0) >= revision;
  if (grant === undefined || grant.revision < revision)
    // A node that is not Ready, such as a joining node, cannot get a grant yet.
    return isReady && !has ? "waiting" : "done";
  const since = Math.floor(reported?.ready.since ?? 0) * 1000;
  const isProved = since !== Date.parse(grant.since) && now - since >= provedAfter * 1000;
  return has && isReady && isProved ? "done" : "open";
}

/**
 * Samples the window five times a second, starting when more than one node has the grant. Returns
 * the used share, 0 to 1, for each sample in which nodes waited.
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
    const now = Date.now();
    const states = driver.model.nodes.map((node) =>
      stateOf(node, sought, driver.reported(node.pods.at(-1)), now),
    );
    const count = (state: WindowState) => states.filter((other) => other === state).length;
    const [open, waiting] = [count("open"), count("waiting")];
    isWide ||= open > 1;
    if (isWide && waiting > 0) shares.push(Math.min(1, open / Math.min(size, open + waiting)));
  }
  return shares;
}

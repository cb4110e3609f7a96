/**
 * Nodes that have no agent. A DaemonSet has no condition for pods that cannot be created (Pod
 * Security, a quota, a webhook): its numbers alone show it. The reason is in its Events, which the
 * controller has no right to read.
 */
import type { V1DaemonSet } from "@kubernetes/client-node";

/**
 * Seconds for which a node may lack an agent: between a pod's deletion and its successor's creation
 * it has none, for a second or two.
 */
const patienceSeconds = 10;

/** Counts the nodes that have long been without an agent; undefined when there are none. */
export function podlessClock(
  now: () => Date,
): (live: V1DaemonSet | undefined) => number | undefined {
  let since: number | undefined;
  return (live) => {
    const { desiredNumberScheduled = 0, currentNumberScheduled = 0 } = live?.status ?? {};
    const count = desiredNumberScheduled - currentNumberScheduled;
    const time = now().getTime() / 1000;
    since = count > 0 ? (since ?? time) : undefined;
    return since === undefined || time - since < patienceSeconds ? undefined : count;
  };
}

/** When a withdrawal is complete. Pure. */
import { aheadSeconds, type Evidence, type NodeEvidence, type Published } from "./evidence.ts";
import type { NodeFacts, ObjectFacts } from "./facts.ts";

/**
 * Seconds after `publishedAt` within which a joining node can still get the former content. The
 * time `publishedAt` is taken before the write, and the write sends two requests of up to 30 s
 * each. Also, the clocks of several API servers can differ.
 */
const writtenSeconds = 120;

/** `again`: seconds until `forgetAfter` has passed. */
export type Completion = Readonly<{
  isComplete: boolean;
  leftBehind: readonly NodeFacts[];
  again: number;
}>;

/**
 * A withdrawal is complete when every node that can have content has confirmed it, or after
 * `forgetAfter`. The nodes that have not confirmed it are then left behind.
 */
export function completionOf(snapshot: Published, { nodes }: Evidence): Completion {
  const { secret, target, policy, now, isGuarded } = snapshot;
  if (secret.intent !== "release" || target.intent !== "release")
    return { isComplete: false, leftBehind: [], again: Number.POSITIVE_INFINITY };
  const leftBehind = nodes
    .filter((evidence) => evidence.verdict !== "current" && canHaveContent(snapshot, evidence))
    .map(({ node }) => node);
  const again = secret.publishedAt + policy.forgetAfter - now;
  // Without the policy, one node could report for all nodes, so no report counts.
  const hasReports = nodes.some(({ node }) => node.object?.report !== undefined);
  const isConfirmed = leftBehind.length === 0 && (isGuarded || !hasReports);
  return { isComplete: isConfirmed || again < 0, leftBehind, again: again + 1 };
}

/**
 * A node that was asked or has reported can have content. If content was served, so can any other
 * Node, unless it is younger than the release. A Node of the future is older: the API server's
 * clock was set back since its creation.
 */
function canHaveContent({ secret, state, now }: Published, { node }: NodeEvidence): boolean {
  const { created, object } = node;
  if (object !== undefined && mayHaveEntries(object)) return true;
  if (object?.report !== undefined && object.report.revision >= secret.revision) return false;
  const isOlder = created <= secret.publishedAt + writtenSeconds || created > now + aheadSeconds;
  return state.served && isOlder;
}

/**
 * True if the node might still have our entries: it was asked for content, or has reported content,
 * and has not confirmed a later release. After a withdrawal, its NodePullSecret stays.
 */
export function mayHaveEntries({ order, report }: ObjectFacts): boolean {
  if (report?.result !== "Removed") return order !== undefined || report !== undefined;
  const isConfirmed = report.revision === order?.revision && report.digest === order.digest;
  return order !== undefined && report.revision <= order.revision && !isConfirmed;
}

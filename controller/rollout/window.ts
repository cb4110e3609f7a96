/** Which nodes are asked next, within the places of the window. Pure. */
import type { Order } from "#contract/order.ts";
import type { NodeFacts, WaitReason } from "./facts.ts";
import { type Evidence, isNewest, type NodeEvidence, type Published } from "./evidence.ts";
import { waitReasonOf, type Circumstances } from "./waits.ts";

/**
 * In modes that restart no kubelet, nothing becomes unavailable. But 2,000 reports in one instant
 * delay other clients of the API server by seconds, so at most this many nodes are asked in a
 * second.
 */
const mostInOneSecond = 50;

/**
 * How many nodes are allowed to be at work for the newest content. The first node goes alone. Each
 * proof opens two more places up to `maxUnavailable`, or all places if no kubelet is restarted.
 * `all` means no limit.
 */
export function placesOf({ secret, policy }: Published, proved: number): number {
  const { maxUnavailable } = policy;
  if (maxUnavailable === "all") return Number.POSITIVE_INFINITY;
  if (secret.mode !== "Restart") return proved > 0 ? Number.POSITIVE_INFINITY : 1;
  return Math.min(maxUnavailable, 1 + 2 * proved);
}

/** How many nodes are allowed to be at work for any content, because their kubelets restart. */
const mostAtWork = ({ secret, policy: { maxUnavailable } }: Published): number =>
  maxUnavailable === "all" || secret.mode !== "Restart" ? Number.POSITIVE_INFINITY : maxUnavailable;

/** How many more nodes are allowed to be asked in this second. */
function askableNow({ secret, now }: Published, nodes: readonly NodeEvidence[]): number {
  if (secret.mode === "Restart") return Number.POSITIVE_INFINITY;
  const second = Math.floor(now);
  const isAskedNow = ({ node }: NodeEvidence) => node.object?.order?.attempt === second;
  return Math.max(0, mostInOneSecond - nodes.filter(isAskedNow).length);
}

export type Window = Readonly<{
  /** The nodes to ask, in order. */
  asked: readonly NodeFacts[];
  /** Of every node without the newest content. Nodes that are asked now are at work. */
  reasons: ReadonlyMap<NodeEvidence, WaitReason>;
  /** Seconds until more nodes can be asked. Infinite: only after a report. */
  again: number;
}>;

/** The places, while candidates take them one after the other. */
class Places {
  readonly #snapshot: Published;
  readonly #mostForNewest: number;
  readonly #most: number;
  /** Nodes at work for the newest content, and for any content. */
  #newest = 0;
  #taken = 0;
  #controlPlane = 0;

  constructor(snapshot: Published, { nodes, proved }: Evidence) {
    this.#snapshot = snapshot;
    this.#mostForNewest = placesOf(snapshot, proved);
    this.#most = mostAtWork(snapshot);
    for (const evidence of nodes) {
      if (!evidence.isAtWork) continue;
      this.#taken += 1;
      if (evidence.node.isControlPlane) this.#controlPlane += 1;
      if (this.#hasPlace(evidence)) this.#newest += 1;
    }
  }

  /** The API must stay reachable, so control-plane nodes restart their kubelets one at a time. */
  waitsForControlPlane({ node, isAtWork }: NodeEvidence): WaitReason | undefined {
    if (!node.isControlPlane || this.#snapshot.secret.mode !== "Restart") return undefined;
    return this.#controlPlane > Number(isAtWork) ? "controlPlane" : undefined;
  }

  /**
   * A node that is at work for older content is unavailable already, so it gets the newer content
   * also if no further node may become unavailable. But while another node may, that node goes
   * first (`byPriority`): the machines that died during the older content would otherwise be asked
   * first, and halt the newer content.
   *
   * A node that was asked before a retry has its place. But more nodes than places can seem to be
   * at work, because a delayed report can replace the answer of a node.
   */
  waitsForPlace(evidence: NodeEvidence): WaitReason | undefined {
    if (this.#hasPlace(evidence)) return this.#newest > this.#mostForNewest ? "window" : undefined;
    const isFull = !evidence.isAtWork && this.#taken >= this.#most;
    return isFull || this.#newest >= this.#mostForNewest ? "window" : undefined;
  }

  take(evidence: NodeEvidence): void {
    if (!this.#hasPlace(evidence)) this.#newest += 1;
    if (evidence.isAtWork) return;
    this.#taken += 1;
    if (evidence.node.isControlPlane) this.#controlPlane += 1;
  }

  /** Whether the node is at work for the newest content, also if a retry came after its order. */
  #hasPlace({ node, isAtWork }: NodeEvidence): boolean {
    return isAtWork && isNewest(this.#snapshot, node.object?.order);
  }
}

/** Chooses the nodes to ask, and gives every other node its reason to wait. */
export function fillWindow(circumstances: Circumstances, evidence: Evidence): Window {
  const { snapshot } = circumstances;
  const { nodes } = evidence;
  const places = new Places(snapshot, evidence);
  const reasons = new Map<NodeEvidence, WaitReason>();
  const candidates: NodeEvidence[] = [];
  for (const node of nodes) {
    if (node.verdict === "current") continue;
    const reason = waitReasonOf(node, circumstances);
    if (reason === undefined) candidates.push(node);
    else reasons.set(node, reason);
  }
  const asked: NodeFacts[] = [];
  const most = askableNow(snapshot, nodes);
  for (const candidate of candidates.toSorted(byPriority)) {
    const reason =
      places.waitsForControlPlane(candidate) ??
      places.waitsForPlace(candidate) ??
      (asked.length >= most ? "window" : undefined);
    reasons.set(candidate, reason ?? "atWork");
    if (reason !== undefined) continue;
    places.take(candidate);
    asked.push(candidate.node);
  }
  const again = asked.length >= most ? 1 : Number.POSITIVE_INFINITY;
  return { asked, reasons, again };
}

/**
 * Ready nodes first. Control-plane nodes come after them. Nodes that refused their last order or
 * have not answered it come last, so that they delay no other node. Nodes of one rank are in the
 * order of their UIDs, which are random: a cloud that renews its nodes takes the oldest ones first,
 * so in an order by age the nodes that are asked first would die unanswered, and halt good content.
 */
const byPriority = (first: NodeEvidence, other: NodeEvidence): number =>
  rankOf(first) - rankOf(other) || (first.node.uid < other.node.uid ? -1 : 1);

function rankOf({ node: { pod, object, isControlPlane }, verdict }: NodeEvidence): number {
  const isOpen = object?.order !== undefined && object.report?.attempt !== object.order.attempt;
  const ranks = [pod?.readySince === undefined, isControlPlane, verdict === "refused" || isOpen];
  return ranks.reduce((rank, isLater, index) => rank + Number(isLater) * 2 ** index, 0);
}

/**
 * The next order of a node. Its attempt is the time, so an order carries its own time also after
 * the API server's clock was set back. Two orders in one second differ by 1.
 */
export function orderFor({ secret, state, now }: Published, { object }: NodeFacts): Order {
  const { revision, digest } = secret;
  const time = Math.max(Math.floor(now), state.since);
  return { revision, digest, attempt: time === object?.order?.attempt ? time + 1 : time };
}

/**
 * Everything that can last and that somebody has to know of, as one table. Each row has the reason
 * of its Event, which is repeated for as long as it lasts and is also the metric's label, and the
 * condition of GlobalPullSecret that it changes, with its reason there. Nothing tells of what is
 * not in here (docs/decisions/0024).
 */
import type { ConditionType } from "./conditions.ts";
import type { Reason } from "./reasons.ts";

/** `condition`: undefined for what changes nothing that nodes get. */
type Row = Readonly<{ event: string; condition: ConditionType | undefined; reason: Reason }>;

export const troubles = {
  /** additional-pull-secret is refused. */
  rejected: { event: "Rejected", condition: "Stalled", reason: "SourceRejected" },
  /** The original is refused or missing. */
  originalRejected: { event: "OriginalRejected", condition: "Stalled", reason: "SourceRejected" },
  /** The original cannot be read. */
  originalUnknown: {
    event: "OriginalUnknown",
    condition: "SourcesAccepted",
    reason: "OriginalUnknown",
  },
  /** An extra source is refused, missing, left out or cannot be read. */
  sourceRejected: {
    event: "SourceRejected",
    condition: "SourcesAccepted",
    reason: "ExtraSourceRejected",
  },
  /** The spec asks for what the installer does not allow. */
  notAllowed: { event: "PolicyNotAllowed", condition: "Stalled", reason: "NotAllowed" },
  /** Another operator owns the nodes' file. */
  unsupported: {
    event: "UnsupportedCluster",
    condition: "Stalled",
    reason: "UnsupportedCluster",
  },
  /** An object under one of our names is somebody else's. */
  foreign: { event: "ForeignObject", condition: "Stalled", reason: "ForeignObject" },
  /** The API server, or an admission policy or webhook, refuses our requests. */
  refused: { event: "RequestRefused", condition: "Stalled", reason: "RequestRefused" },
  /**
   * The API server keeps something else than we declare, because other people's admission changes
   * it.
   */
  mutated: { event: "ObjectMutated", condition: undefined, reason: "InForce" },
  /** Nodes have no agent, because its pod cannot be created. */
  podsRefused: { event: "PodsRefused", condition: "Stalled", reason: "PodsRefused" },
  /** A revision does not reach every node that is alive. */
  halted: { event: "RolloutHalted", condition: "Stalled", reason: "Halted" },
  /** The halted content is held: every node keeps what it has. */
  held: { event: "RolloutHeld", condition: "Stalled", reason: "Halted" },
  /** A removal makes no progress, whatever its step. */
  overdue: { event: "RemovalOverdue", condition: "Stalled", reason: "Overdue" },
  /** A removal waits for nodes that are away. */
  awaited: { event: "NodesAwaited", condition: "NodesLeftOut", reason: "NodesAwaited" },
} as const satisfies Record<string, Row>;

export type TroubleKind = keyof typeof troubles;

/**
 * The kind whose Event has this reason; undefined for an Event that tells news and does not last.
 */
export function kindOf(event: string | undefined): TroubleKind | undefined {
  return (Object.keys(troubles) as TroubleKind[]).find((kind) => troubles[kind].event === event);
}

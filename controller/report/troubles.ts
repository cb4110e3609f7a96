/**
 * Everything that can last and that somebody has to know of, as one table: the reason of its Event,
 * which is repeated for as long as it lasts and is the metric's label, too; and the condition that
 * it sets to False. What is not in here is told by nobody (docs/decisions/0024).
 */
import type { Condition } from "../objects/annotations.ts";

type Row = Readonly<{ event: string; condition: Condition["type"]; reason: string }>;

export const troubles = {
  /** additional-pull-secret is refused. */
  rejected: { event: "Rejected", condition: "Accepted", reason: "Rejected" },
  /** The original is refused or missing. */
  originalRejected: {
    event: "OriginalRejected",
    condition: "OriginalAccepted",
    reason: "Rejected",
  },
  /** The original cannot be asked for. */
  originalUnknown: { event: "OriginalUnknown", condition: "OriginalAccepted", reason: "Unknown" },
  /** An extra source is refused, missing, left out or cannot be read. */
  sourceRejected: { event: "SourceRejected", condition: "Accepted", reason: "SourceRejected" },
  /** Another operator owns the nodes' file. */
  unsupported: { event: "UnsupportedCluster", condition: "Deployed", reason: "UnsupportedCluster" },
  /** An object under one of our names is somebody else's. */
  foreign: { event: "ForeignObject", condition: "Deployed", reason: "ForeignObject" },
  /** The API server, or an admission in it, refuses what we ask. */
  refused: { event: "RequestRefused", condition: "Deployed", reason: "RequestRefused" },
  /** What the API server keeps is not what we declare: other people's admission changes it. */
  mutated: { event: "ObjectMutated", condition: "Deployed", reason: "ObjectMutated" },
  /** Nodes have no agent, because its pod cannot be created. */
  podsRefused: { event: "PodsRefused", condition: "Deployed", reason: "PodsRefused" },
  /** A revision does not reach every node that lives. */
  halted: { event: "RolloutHalted", condition: "RolledOut", reason: "Halted" },
  /** What halted is held: every node keeps what it has. */
  held: { event: "RolloutHeld", condition: "RolledOut", reason: "Halted" },
  /** A removal stands, at whichever step. */
  overdue: { event: "RemovalOverdue", condition: "Removed", reason: "Overdue" },
  /** A removal waits for nodes that are away. */
  awaited: { event: "NodesAwaited", condition: "Removed", reason: "NodesAwaited" },
} as const satisfies Record<string, Row>;

export type TroubleKind = keyof typeof troubles;

/** The kind whose Event has this reason; undefined for what is news and does not last. */
export function kindOf(event: string | undefined): TroubleKind | undefined {
  return (Object.keys(troubles) as TroubleKind[]).find((kind) => troubles[kind].event === event);
}

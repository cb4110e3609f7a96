/**
 * All troubles that last and need to be reported, in one table. `event`: the label of the metric,
 * and the reason of the Event, which is repeated while the trouble lasts. `condition`: the
 * condition of GlobalPullSecret that the trouble changes. `reason`: the reason in that condition.
 * Nothing else is reported (docs/inside/decisions/lasting-failures.md).
 */
import type { ConditionType, Reason, TroubleReason } from "#api/reasons.ts";

/** `condition`: undefined for a trouble that does not affect the nodes. */
type Row = Readonly<{
  event: TroubleReason;
  condition: ConditionType | undefined;
  reason: Reason;
}>;

export const troubles = {
  rejected: { event: "Rejected", condition: "Stalled", reason: "SourceRejected" },
  originalRejected: { event: "OriginalRejected", condition: "Stalled", reason: "SourceRejected" },
  originalUnknown: {
    event: "OriginalUnknown",
    condition: "SourcesAccepted",
    reason: "OriginalUnknown",
  },
  sourceRejected: {
    event: "SourceRejected",
    condition: "SourcesAccepted",
    reason: "ExtraSourceRejected",
  },
  notAllowed: { event: "PolicyNotAllowed", condition: "Stalled", reason: "NotAllowed" },
  unsupported: {
    event: "UnsupportedCluster",
    condition: "Stalled",
    reason: "UnsupportedCluster",
  },
  foreign: { event: "ForeignObject", condition: "Stalled", reason: "ForeignObject" },
  refused: { event: "RequestRefused", condition: "Stalled", reason: "RequestRefused" },
  contested: { event: "WriteContested", condition: "Stalled", reason: "WriteContested" },
  unanswered: {
    event: "RequestUnanswered",
    condition: "Reconciling",
    reason: "RequestUnanswered",
  },
  mutated: { event: "ObjectMutated", condition: undefined, reason: "InForce" },
  unsearched: { event: "HiddenFilesUnsearched", condition: "Ready", reason: "InForce" },
  podsRefused: { event: "PodsRefused", condition: "Stalled", reason: "PodsRefused" },
  halted: { event: "RolloutHalted", condition: "Stalled", reason: "Halted" },
  failed: { event: "NodesFailed", condition: "NodesLeftOut", reason: "NodesCannotBeServed" },
  upgradeRefused: { event: "UpgradeRefused", condition: "Stalled", reason: "UpgradeRefused" },
  unserved: { event: "NoNodeCanBeServed", condition: "Stalled", reason: "NoNodeCanBeServed" },
  overdue: { event: "RemovalOverdue", condition: "Stalled", reason: "Overdue" },
  awaited: { event: "NodesAwaited", condition: "NodesLeftOut", reason: "NodesAwaited" },
} as const satisfies Record<string, Row>;

export type TroubleKind = keyof typeof troubles;

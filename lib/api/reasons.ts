/**
 * The conditions of GlobalPullSecret, their reasons, and the reasons of Events: each name with its
 * meaning. Scripts and alerts compare the names, so a name never changes and is never reused.
 * docs/reference/reasons.md is made from these tables.
 */

/** Condition → what it means when it is True. */
export const conditions = {
  Ready:
    "The controller accepts the sources as it last read them, and every node that can be served has their revision.",
  Reconciling: "Not Ready, and the controller continues by itself.",
  Stalled: "Not Ready, and you have to act. Never together with Reconciling.",
  SourcesAccepted:
    "Every source is accepted. If a source of `spec.sources` is refused, only this condition changes.",
  RolledOut:
    "Every node that can be served has the published revision. Newer content may still wait.",
  NodesLeftOut:
    "Some nodes cannot be served now. The message names at most ten of them. The other conditions do not depend on this one.",
} as const;

/** Reasons when Ready is True. */
export const readyReasons = {
  InForce: "Every node that can be served has the content of the Secrets, as last read.",
  NoNodes: "The same as InForce, but no node of the cluster is selected.",
  NoSource:
    "No source has credentials: its Secret does not exist, or none is declared. No object of ours is left.",
  Withdrawn: "`spec.managementState` is Withdrawn, and our entries are gone from all nodes.",
  NodesAwaited:
    "The same as Withdrawn, but absent nodes restore their files only when they return.",
} as const;

/** Reasons when the controller continues by itself, so Ready is False or Unknown. */
export const reconcilingReasons = {
  Starting: "The controller has not finished its first run.",
  StartingAgents: "The agents are starting, and change nothing yet.",
  OneNodeFirst: "A revision is granted to one node, which must prove it before the others.",
  RollingOut: "A revision is granted to the other nodes.",
  RollingOutLater: "A change waits until `spec.rollout.minInterval` is over.",
  NodesOutOfReach:
    "A rollout cannot begin, because every node is away; it begins by itself when a node returns.",
  WithdrawalAwaited:
    "The Secret is deleted, and may be created again until the grace period is over.",
  Withdrawing: "The agents remove our entries, or our objects are being deleted.",
  OriginalUnknown: "The original has never been read, and cannot be read now.",
  RequestUnanswered:
    "The API server has not answered our requests for minutes, or is too busy. Ready is Unknown.",
} as const;

/** Reasons when you have to act, so Ready is False. */
export const stalledReasons = {
  Paused: "`spec.managementState` is Paused, and a change, a rollout or a withdrawal waits.",
  SourceRejected:
    "`additional-pull-secret` or the original is refused; the last accepted content stays in force.",
  NotAllowed:
    "The spec requests something that the installer does not allow; the previous policy stays in force.",
  UnsupportedCluster: "Another operator owns the nodes' pull secrets.",
  ForeignObject: "An object with one of our names was made by another client.",
  RequestRefused: "The API server, or an admission policy or webhook, refuses our requests.",
  WriteContested: "Another client keeps undoing our writes of an object; the message names it.",
  PodsRefused: "The agents' pods cannot be created.",
  Halted:
    "More nodes failed than `spec.rollout.maxFailures`. All keep what they have until you change the Secret or request a retry.",
  NoNodeCanBeServed:
    "A rollout cannot begin, because no node can be served; `status.failures` has the reasons.",
  UpgradeRefused:
    "The controller may not delete agents' pods of an older version. RolledOut reports whether the nodes have the revision.",
  Overdue: "A withdrawal has not moved for `spec.withdrawal.deadline`.",
} as const;

/** Reasons of SourcesAccepted and NodesLeftOut that no other condition has. */
export const otherReasons = {
  AllAccepted: "SourcesAccepted: every source is accepted.",
  ExtraSourceRejected:
    "SourcesAccepted: only additional sources are refused, which never makes Ready False.",
  SourceUnknown: "SourcesAccepted: a source cannot be read, and none is refused.",
  NoneLeftOut: "NodesLeftOut: no node is left out.",
  NodesCannotBeServed: "NodesLeftOut: some nodes cannot be served now.",
} as const;

/** Reasons in `status.sources`: why a source is accepted or not. */
export const sourceReasons = {
  Accepted: "It is valid, and its present content is in force.",
  Rejected: "It is refused; its last accepted document stays in force.",
  LeftOut: "It is valid, but together with higher sources it exceeds a limit.",
  Missing: "The Secret does not exist.",
  WithdrawalAwaited: "It was deleted, and may be created again until the grace period is over.",
  Forbidden: "The controller has no right to read it.",
  Unreadable: "The API server does not answer the request for it.",
} as const;

/** Reasons of Events about a change. Each change is reported once. */
export const newsReasons = {
  Accepted: "The content of additional-pull-secret is accepted, with this number of registries.",
  AcceptedWithWarnings: "additional-pull-secret is accepted, with warnings.",
  RolledOut: "Every node that can be served has a revision. The message names the other nodes.",
  WithdrawalAwaited: "The Secret is deleted; its entries are removed after the grace period.",
  Removing: "A revision removes the entries from every node.",
  Removed: "Our entries are gone from all nodes, and our objects are deleted.",
  NodesLeftBehind: "The removal ended, but some nodes may still have the entries.",
} as const;

/** Reasons of Events that are repeated every half hour while the state lasts. */
export const troubleReasons = {
  Rejected: "additional-pull-secret is refused.",
  OriginalRejected: "The original is refused or missing.",
  OriginalUnknown: "The original cannot be read.",
  SourceRejected: "One of `spec.sources` is refused, missing, left out or cannot be read.",
  PolicyNotAllowed: "The spec requests something that the installer does not allow.",
  UnsupportedCluster: "Another operator owns the nodes' file.",
  ForeignObject: "An object with one of our names was made by another client.",
  RequestRefused: "The API server, or an admission policy or webhook, refuses our requests.",
  WriteContested: "Another client keeps undoing our writes of an object; the message names it.",
  RequestUnanswered:
    "The API server has not answered our requests for minutes, or is too busy for them.",
  ObjectMutated: "Admission changes an object that we declare, but nothing that nodes get.",
  PodsRefused: "Nodes have no agent, because its pod cannot be created.",
  RolloutHalted: "Nodes failed with a revision. It is granted to no other node.",
  UpgradeRefused:
    "The controller may not delete agents' pods of an older version; the message has the reason.",
  NodesFailed: "Nodes failed with the revision in force. The other nodes have it.",
  NoNodeCanBeServed:
    "A rollout cannot begin, because no node can be served; the message has the reasons.",
  RemovalOverdue: "A removal makes no progress.",
  NodesAwaited: "A removal waits for nodes that are away.",
} as const;

export type ConditionType = keyof typeof conditions;
export type ReadyReason = keyof typeof readyReasons;
export type ReconcilingReason = keyof typeof reconcilingReasons;
export type StalledReason = keyof typeof stalledReasons;
/** A reason of any condition. */
export type Reason = ReadyReason | ReconcilingReason | StalledReason | keyof typeof otherReasons;
export type SourceReason = keyof typeof sourceReasons;
export type NewsReason = keyof typeof newsReasons;
export type TroubleReason = keyof typeof troubleReasons;

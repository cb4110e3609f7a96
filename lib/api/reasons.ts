/**
 * The conditions of GlobalPullSecret, their reasons, and the reasons of Events: each name with its
 * meaning. Scripts and alerts compare the names, so a name never changes and is never reused.
 * docs/reference/reasons.md is made from these tables.
 */

/** Condition → what it means when it is True. */
export const conditions = {
  Ready:
    "The sources as last read are accepted, and their revision is on every node that can be served.",
  Reconciling: "Not Ready; the controller continues by itself.",
  Stalled: "Not Ready, and a person must act. Never together with Reconciling.",
  SourcesAccepted:
    "Every source is accepted. A refused source of `spec.sources` makes only this condition False.",
  RolledOut:
    "The published revision is on every node that can be served, whatever waits to follow it.",
  NodesLeftOut:
    "Some nodes cannot be served now; up to ten are named. They make no other condition False.",
} as const;

/** Reasons when Ready is True. */
export const readyReasons = {
  InForce: "Every node that can be served has the content of the Secrets, as last read.",
  NoNodes: "The same, but no node of the cluster is meant to have it.",
  NoSource: "No Secret is declared, and nothing of ours is left.",
  Withdrawn: "`spec.managementState` is Withdrawn, and our content is removed from the nodes.",
  NodesAwaited:
    "Withdrawn too, but nodes that cannot be served now restore their files only when they return.",
} as const;

/** Reasons while the controller continues by itself, so Ready is False or Unknown. */
export const reconcilingReasons = {
  Starting: "No run has finished reading the cluster yet.",
  StartingAgents: "The agents are starting; they touch nothing yet.",
  OneNodeFirst: "A revision is granted to one node, which must prove it before the others.",
  RollingOut: "A revision is granted to the other nodes.",
  RollingOutLater: "A change waits until `spec.rollout.minInterval` is over.",
  NodesOutOfReach:
    "A rollout cannot begin, because every node is away; it begins by itself when a node returns.",
  WithdrawalAwaited:
    "The Secret is deleted, and may be created again until the grace period is over.",
  Withdrawing: "The agents are removing our entries, or our objects are being deleted.",
  OriginalUnknown: "The original has never been read, and cannot be now.",
  RequestUnanswered:
    "The API server has not answered our requests for minutes, or is too busy. Ready is Unknown.",
} as const;

/** Reasons while a person must act, so Ready is False. */
export const stalledReasons = {
  Paused: "`spec.managementState` is Paused, and a change or a withdrawal waits.",
  SourceRejected:
    "`additional-pull-secret` or the original is refused; the last accepted content stays in force.",
  NotAllowed:
    "The spec requests something that the installer does not allow; the previous policy stays in force.",
  UnsupportedCluster: "Another operator owns the nodes' pull secrets.",
  ForeignObject: "An object under one of our names belongs to another program.",
  RequestRefused: "The API server, or an admission policy or webhook, refuses our requests.",
  WriteContested:
    "Another client keeps undoing our writes of an object; the message names the client.",
  PodsRefused: "The agents' pods cannot be created.",
  Halted:
    "More nodes failed than `spec.rollout.maxFailures`. All keep what they have until you change the Secret or request a retry.",
  NoNodeCanBeServed:
    "A rollout cannot begin, because no node can be served; `status.failures` has the reasons.",
  UpgradeRefused:
    "Agents' pods of an older version may not be deleted. RolledOut shows whether the nodes have the revision.",
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
  LeftOut: "It is valid, but does not fit together with higher sources.",
  Missing: "The Secret does not exist.",
  WithdrawalAwaited: "It was deleted, and may be created again until the grace period is over.",
  Forbidden: "The controller has no right to read it.",
  Unreadable: "The API server does not answer for it.",
} as const;

/** Reasons of Events that report news, once each. */
export const newsReasons = {
  Accepted:
    "The present content of additional-pull-secret is accepted; the message has the number of registries.",
  AcceptedWithWarnings: "It is accepted, but something in it may be unexpected.",
  RolledOut: "A revision is on every node that can be served; the message names the others.",
  WithdrawalAwaited: "The Secret is deleted; its entries are removed after the grace period.",
  Removing: "A revision removes the entries from every node.",
  Removed: "Everything is removed from the nodes, and our objects are deleted.",
  NodesLeftBehind: "The removal ended without some nodes, which may keep the entries.",
} as const;

/** Reasons of Events that are repeated every half hour while the state lasts. */
export const troubleReasons = {
  Rejected: "additional-pull-secret is refused.",
  OriginalRejected: "The original is refused or missing.",
  OriginalUnknown: "The original cannot be read.",
  SourceRejected: "One of `spec.sources` is refused, missing, left out or cannot be read.",
  PolicyNotAllowed: "The spec requests something that the installer does not allow.",
  UnsupportedCluster: "Another operator owns the nodes' file.",
  ForeignObject: "An object under one of our names belongs to another program.",
  RequestRefused: "The API server, or an admission policy or webhook, refuses our requests.",
  WriteContested:
    "Another client keeps undoing our writes of an object; the message names the client.",
  RequestUnanswered:
    "The API server has not answered our requests for minutes, or is too busy for them.",
  ObjectMutated:
    "Other people's admission changes what we declare, but nothing that reaches nodes.",
  PodsRefused: "Nodes have no agent, because its pod cannot be created.",
  RolloutHalted: "Nodes failed with a revision. It is granted to no other node.",
  UpgradeRefused:
    "Agents' pods of an older version may not be deleted; the message quotes the refusal.",
  NodesFailed: "Nodes failed with the revision in force. The other nodes have it.",
  NoNodeCanBeServed:
    "A rollout cannot begin, because no node can be served; the message has the reasons.",
  RemovalOverdue: "A removal makes no progress, whatever its step.",
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

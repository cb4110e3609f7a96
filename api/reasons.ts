/**
 * The conditions of GlobalPullSecret, the reasons they have, and the reasons of Events: each name
 * with what it means. Scripts and alerts compare them, so a name is never changed and never used
 * for anything else. docs/reference/reasons.md is made from these tables.
 */

/** Condition → what it means when it is True. */
export const conditions = {
  Ready:
    "The sources as last read are accepted, and their revision is on every node that can be served.",
  Reconciling: "Not Ready, and the controller goes on by itself.",
  Stalled: "Not Ready, and only a person can go on. Never together with Reconciling.",
  SourcesAccepted:
    "Every source is accepted. One of `spec.sources` that is not turns this one, and no other.",
  RolledOut:
    "The published revision is on every node that can be served, whatever waits to follow it.",
  NodesLeftOut:
    "There are nodes that cannot be served now; ten are named. They make no other condition False.",
} as const;

/** Reasons when Ready is True. */
export const readyReasons = {
  InForce: "Every node that can be served has what the Secrets say, as last read.",
  NoNodes: "The same, but no node of the cluster should have it.",
  NoSource: "Nothing is declared, and nothing of ours is left.",
  Withdrawn: "`spec.managementState` is Withdrawn, and the nodes have given back what was ours.",
  NodesAwaited:
    "Withdrawn too, but nodes that cannot be served now restore their files only when they return.",
} as const;

/** Reasons when the controller goes on by itself, so Ready is False or Unknown. */
export const reconcilingReasons = {
  Starting: "No run has finished looking yet.",
  StartingAgents: "The agents are being started; they touch nothing yet.",
  OneNodeFirst: "A revision is granted to one node, which must prove it before the others.",
  RollingOut: "A revision is granted to the other nodes.",
  RollingOutLater: "A change waits until `spec.rollout.minInterval` is over.",
  NodesOutOfReach:
    "A rollout cannot begin, because every node is away; it begins by itself when one returns.",
  WithdrawalAwaited:
    "The Secret is deleted, and may be created again until the grace period is over.",
  Withdrawing: "The nodes are giving back our entries, or our objects are being deleted.",
  OriginalUnknown: "The original has never been read, and cannot be now.",
  RequestUnanswered:
    "The API server has not answered our requests for minutes, or is too busy. Ready is Unknown.",
} as const;

/** Reasons when only a person can go on, so Ready is False. */
export const stalledReasons = {
  Paused: "`spec.managementState` is Paused, and a change or a withdrawal waits.",
  SourceRejected:
    "`additional-pull-secret` or the original is refused; the last accepted content stays in force.",
  NotAllowed:
    "The spec asks for what the installer does not allow; the previous policy stays in force.",
  UnsupportedCluster: "Another operator owns the nodes' pull secrets.",
  ForeignObject: "An object under one of our names is somebody else's.",
  RequestRefused: "The API server, or an admission policy or webhook, refuses our requests.",
  WriteContested: "Another client undoes our writes of an object again and again; it is named.",
  PodsRefused: "The agents' pods cannot be created.",
  Halted:
    "More nodes failed than `spec.rollout.maxFailures`. All keep what they have until you change the Secret or request a retry.",
  NoNodeCanBeServed:
    "A rollout cannot begin, because no node can be served; `status.failures` has the reasons.",
  UpgradeRefused:
    "Agents' pods of an older version may not be deleted. RolledOut tells whether the nodes have the revision.",
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
  Accepted: "It is in order, and what it says now is in force.",
  Rejected: "It is refused; its last accepted document stays in force.",
  LeftOut: "It is in order, but does not fit together with higher sources.",
  Missing: "There is no such Secret.",
  WithdrawalAwaited: "It was deleted, and may be created again until the grace period is over.",
  Forbidden: "The controller has no right to read it.",
  Unreadable: "The API server does not answer for it.",
} as const;

/** Reasons of Events that tell news, each once. */
export const newsReasons = {
  Accepted: "What additional-pull-secret says now is taken, with so many registries.",
  AcceptedWithWarnings: "It is taken, and something in it may surprise.",
  RolledOut: "A revision is on every node that can be served; those that could not be are named.",
  WithdrawalAwaited: "The Secret is deleted; its entries are taken back after the grace period.",
  Removing: "A revision takes the entries back from every node.",
  Removed: "The nodes have given everything back, and our objects are deleted.",
  HiddenFilesUnsearched: "Nodes are not searched for files that config.json would hide.",
  NodesLeftBehind: "The removal ended without nodes that may keep the entries.",
} as const;

/** Reasons of Events that are repeated every half hour, for as long as the state lasts. */
export const troubleReasons = {
  Rejected: "additional-pull-secret is refused.",
  OriginalRejected: "The original is refused or missing.",
  OriginalUnknown: "The original cannot be read.",
  SourceRejected: "One of `spec.sources` is refused, missing, left out or cannot be read.",
  PolicyNotAllowed: "The spec asks for what the installer does not allow.",
  UnsupportedCluster: "Another operator owns the nodes' file.",
  ForeignObject: "An object under one of our names is somebody else's.",
  RequestRefused: "The API server, or an admission policy or webhook, refuses our requests.",
  WriteContested: "Another client undoes our writes of an object again and again; it is named.",
  RequestUnanswered:
    "The API server has not answered our requests for minutes, or is too busy for them.",
  ObjectMutated: "Other people's admission changes what we declare; nothing that nodes get.",
  PodsRefused: "Nodes have no agent, because its pod cannot be created.",
  RolloutHalted: "Nodes failed with a revision. It is granted to no other node.",
  UpgradeRefused: "Agents' pods of an older version may not be deleted; it quotes why.",
  NodesFailed: "Nodes failed with the revision in force. The other nodes have it.",
  NoNodeCanBeServed: "A rollout cannot begin: no node can be served, for the reasons it quotes.",
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

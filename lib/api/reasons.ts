/**
 * The conditions of GlobalPullSecret, their reasons, and the reasons of Events: each name with its
 * meaning. Scripts and alerts compare the names, so a name never changes and is never reused.
 * docs/reference/reasons.md is made from these tables.
 */

/** Condition → what it means when it is True. */
export const conditions = {
  Ready:
    "The sources are accepted as last read, and their revision is in force: more than half of the reachable nodes have it, and at most a twentieth of them, or one node, lack it.",
  Reconciling: "Not Ready, and the controller continues by itself.",
  Stalled: "Not Ready, and you have to act. Never together with Reconciling.",
  SourcesAccepted:
    "Every source is accepted. If a source of `spec.sources` is refused, only this condition changes.",
  CredentialsVerified: "Registries were asked, and none denies a credential that is in force.",
  NodesLeftOut:
    "Some nodes cannot be served now, or may keep withdrawn entries. The message names some.",
} as const;

/** Reasons when Ready is True. */
export const readyReasons = {
  InForce: "The content of the Secrets, as last read, is in force.",
  NoNodes: "As InForce, but no node is selected.",
  NoSource: "No source has credentials, and no object of ours is left.",
  Withdrawn: "`spec.managementState` is Withdrawn, and no node has our entries.",
  NodesAwaited:
    "As Withdrawn, but nodes whose kubelet does not answer remove the entries when they return.",
  NodesLeftBehind:
    "As Withdrawn, but some nodes have not confirmed it and may keep the entries. `status.failures` names them until you delete their NodePullSecrets.",
} as const;

/** Reasons when the controller continues by itself, so Ready is False or Unknown. */
export const reconcilingReasons = {
  Starting: "The controller has not finished its first run.",
  StartingAgents: "The agents are starting, and change nothing yet.",
  Verifying: "The registries are asked about new content, for at most 10 s.",
  OneNodeFirst: "No node has proved the revision yet, so one node is asked at a time.",
  RollingOut: "Nodes have proved the revision, and others are asked to take it.",
  RollingOutLater: "A change waits until `spec.rollout.minInterval` is over.",
  SourceFlapping:
    "The Secrets change so often that newer content is published once in ten minutes. An Event with this reason names their writers.",
  NodesOutOfReach: "The kubelet of every node without the revision does not answer.",
  WithdrawalAwaited:
    "A Secret is deleted, empty, or has lost most of its registries, and the grace period is not over.",
  Withdrawing: "The agents remove our entries, or our objects are being deleted.",
  OriginalUnknown: "The original has never been read, and cannot be read now.",
  RequestUnanswered: "The API server does not answer, or is too busy. Ready is Unknown.",
} as const;

/** Reasons when you have to act, so Ready is False. */
export const stalledReasons = {
  Paused: "`spec.managementState` is Paused, and a change or a withdrawal waits.",
  SourceRejected:
    "`additional-pull-secret` or the original is refused; the last accepted content stays.",
  NotAllowed: "The spec exceeds a limit of the installer; the previous policy stays in force.",
  UnsupportedCluster: "Another operator owns the nodes' pull secrets.",
  ForeignObject: "An object with one of our names was made by another client.",
  RequestRefused: "The API server, an admission policy or a webhook refuses our requests.",
  WriteContested: "Another client keeps undoing our writes of an object.",
  PodsRefused: "The agents' pods cannot be created.",
  Halted:
    "Too many nodes failed, or did not answer. No other node is asked until you change the Secret or request a retry, or silent nodes answer.",
  PolicyMissing: "The admission policy of the agents' reports does not exist, so no node is asked.",
  NoNodeCanBeServed: "No other node can be served; `status.failures` has the reasons.",
  Overdue: "A withdrawal has not moved for `spec.withdrawal.deadline`.",
} as const;

/** Reasons of other conditions that Ready, Reconciling and Stalled do not have. */
export const otherReasons = {
  AllAccepted: "SourcesAccepted: every source is accepted.",
  ExtraSourceRejected:
    "SourcesAccepted: only additional sources are refused, which never makes Ready False.",
  SourceUnknown: "SourcesAccepted: a source cannot be read, and none is refused.",
  NoneDenied: "CredentialsVerified: a registry accepts its credential, and none denies one.",
  CredentialsDenied:
    "CredentialsVerified: a registry denies a credential in force. Nothing changes on nodes.",
  NotVerified: "CredentialsVerified: no registry has answered, or none was asked.",
  NoneLeftOut: "NodesLeftOut: no node is left out.",
  NodesCannotBeServed:
    "NodesLeftOut: some nodes cannot be served now. In a withdrawal: NodesAwaited, NodesLeftBehind.",
} as const;

/** Reasons in `status.nodes.waiting`: why a node does not have the revision. */
export const waitReasons = {
  NoAgentPod: "The node has no agent pod.",
  AgentStarting:
    "The agent's container does not run, or the node's NodePullSecret is missing or cannot be written.",
  Unreachable: "The node's kubelet does not answer.",
  AtWork: "The node was asked to take the revision, and its usual time is not over.",
  Silent: "The node was asked, and did not answer within its usual time.",
  Failed: "The revision failed on the node.",
  Unfit: "The node cannot take the revision. It is asked again later.",
  PolicyMissing: "The admission policy of the agents' reports does not exist.",
  Paused: "`spec.managementState` is Paused.",
  Halted: "The rollout is halted.",
  OtherMode: "The agent has another delivery mode, and is about to be replaced.",
  ControlPlaneAtWork: "Another control-plane node is at work; they change one at a time.",
  NoPlace: "As many nodes are at work as may change at a time.",
} as const;

/** Reasons in `status.sources`: why a source is accepted or not. */
export const sourceReasons = {
  Accepted: "It is valid, and its present content is in force.",
  Rejected: "It is refused; its last accepted document stays in force.",
  LeftOut:
    "It is valid, but serves a protected registry, or exceeds a limit with the higher sources.",
  Missing: "The Secret does not exist, or has no entries.",
  WithdrawalAwaited:
    "It was deleted or emptied, or has lost most of its registries, and the grace period is not over.",
  Kept: "It was deleted or emptied. What it had stays, because `spec.withdrawal.onDelete` is Keep.",
  Verifying: "Its registries are asked whether they accept it.",
  Forbidden: "The controller has no right to read it.",
  Unreadable: "The API server does not answer.",
} as const;

/** Reasons of Events about a change. Each change is reported once. */
export const newsReasons = {
  Accepted: "It is accepted, with this number of registries.",
  AcceptedWithWarnings: "It is accepted, with warnings.",
  RolledOut: "A revision is in force. The message names nodes that lack it.",
  WithdrawalAwaited:
    "It is deleted, empty, or has lost most of its registries. The message says when they leave the nodes.",
  Removing: "A revision removes the entries from every node.",
  Removed: "Our entries are gone from all nodes, and our objects are deleted.",
} as const;

export type ConditionType = keyof typeof conditions;
export type ReadyReason = keyof typeof readyReasons;
export type ReconcilingReason = keyof typeof reconcilingReasons;
export type StalledReason = keyof typeof stalledReasons;
/** A reason of any condition. */
export type Reason = ReadyReason | ReconcilingReason | StalledReason | keyof typeof otherReasons;
export type WaitWord = keyof typeof waitReasons;
export type SourceReason = keyof typeof sourceReasons;
export type NewsReason = keyof typeof newsReasons;

/** The reasons of GlobalPullSecret's conditions: what people and tools may rely on. */

/** Ready is True. */
export type ReadyReason =
  /** Every node that can be served has what the Secrets say, as last read. */
  | "InForce"
  /** The same, and no node of the cluster should have it. */
  | "NoNodes"
  /** Nothing is declared, and nothing of ours is left. */
  | "NoSource"
  /** spec.managementState is Withdrawn, and the nodes have given back what was ours. */
  | "Withdrawn"
  /** Withdrawn as well, and nodes that are away give back when they return. */
  | "NodesAwaited";

/** Ready is False or Unknown, and the controller goes on by itself: Reconciling is True. */
export type ReconcilingReason =
  /** Nothing has been looked at yet. */
  | "Starting"
  /** The first agents are being started; they touch nothing yet. */
  | "StartingAgents"
  /** A revision is on its first node. */
  | "OneNodeFirst"
  /** A revision is on its way. */
  | "RollingOut"
  /** A change waits until spec.rollout.minInterval is over. */
  | "RollingOutLater"
  /** Too many nodes are out of reach; it goes on when they are back. */
  | "NodesOutOfReach"
  /** The Secret is deleted, and may be made anew until the grace is over. */
  | "WithdrawalAwaited"
  /** The nodes give back our entries, or our objects are being deleted. */
  | "Withdrawing"
  /** The original has never been read, and cannot be now. */
  | "OriginalUnknown";

/** Ready is False, and only a person can go on: Stalled is True. */
export type StalledReason =
  /** spec.managementState is Paused, and a change or a withdrawal waits. */
  | "Paused"
  /** additional-pull-secret or the original is refused; what was accepted last stays in force. */
  | "SourceRejected"
  /** The spec asks for what the installer does not allow; the policy before stays in force. */
  | "NotAllowed"
  /** Another operator owns the nodes' pull secrets. */
  | "UnsupportedCluster"
  /** An object under one of our names is somebody else's. */
  | "ForeignObject"
  /** The API server, or an admission in it, refuses what we ask. */
  | "RequestRefused"
  /** The agents' pods cannot be created. */
  | "PodsRefused"
  /** Nodes failed with a revision; all keep what they have. It is tried again, later and later. */
  | "Halted"
  /** A withdrawal has not moved for spec.withdrawal.deadline. */
  | "Overdue";

/** Only of the other conditions. */
type OtherReason =
  /** SourcesAccepted: each is; NodesLeftOut: none is. */
  | "AllAccepted"
  | "NoneLeftOut"
  /** SourcesAccepted: of additional sources; it never makes Ready False. */
  | "ExtraSourceRejected"
  | "SourceUnknown"
  /** NodesLeftOut: nodes that nobody can serve now. */
  | "NodesCannotBeServed";

export type Reason = ReadyReason | ReconcilingReason | StalledReason | OtherReason;

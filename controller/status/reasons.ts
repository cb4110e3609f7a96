/** The reasons of GlobalPullSecret's conditions, on which people and tools may rely. */

/** Reasons when Ready is True. */
export type ReadyReason =
  /** Every node that can be served has what the Secrets say, as last read. */
  | "InForce"
  /** The same, but no node of the cluster should have it. */
  | "NoNodes"
  /** Nothing is declared, and nothing of ours is left. */
  | "NoSource"
  /** spec.managementState is Withdrawn, and the nodes have given back what was ours. */
  | "Withdrawn"
  /** Withdrawn too, but nodes that are away will give back only when they return. */
  | "NodesAwaited";

/**
 * Reasons when Ready is False or Unknown and the controller goes on by itself, so Reconciling is
 * True.
 */
export type ReconcilingReason =
  /** No run has finished looking yet. */
  | "Starting"
  /** The first agents are being started; they touch nothing yet. */
  | "StartingAgents"
  /** A revision is on its first node. */
  | "OneNodeFirst"
  /** A revision is on its way to the other nodes. */
  | "RollingOut"
  /** A change waits until spec.rollout.minInterval is over. */
  | "RollingOutLater"
  /** Too many nodes are unreachable; the rollout goes on when they are back. */
  | "NodesOutOfReach"
  /** The Secret is deleted, and may be created again until the grace period is over. */
  | "WithdrawalAwaited"
  /** The nodes are giving back our entries, or our objects are being deleted. */
  | "Withdrawing"
  /** The original has never been read, and cannot be now. */
  | "OriginalUnknown";

/** Reasons when Ready is False and only a person can go on, so Stalled is True. */
export type StalledReason =
  /** spec.managementState is Paused, and a change or a withdrawal waits. */
  | "Paused"
  /**
   * additional-pull-secret or the original is refused; the last accepted content stays in force.
   */
  | "SourceRejected"
  /** The spec asks for what the installer does not allow; the previous policy stays in force. */
  | "NotAllowed"
  /** Another operator owns the nodes' pull secrets. */
  | "UnsupportedCluster"
  /** An object under one of our names is somebody else's. */
  | "ForeignObject"
  /** The API server, or an admission policy or webhook, refuses our requests. */
  | "RequestRefused"
  /** The agents' pods cannot be created. */
  | "PodsRefused"
  /**
   * Nodes failed with a revision, so all keep what they have. It is tried again after growing
   * pauses.
   */
  | "Halted"
  /** A withdrawal has not moved for spec.withdrawal.deadline. */
  | "Overdue";

/** Reasons of the other conditions only. */
type OtherReason =
  /** SourcesAccepted: every source is accepted. */
  | "AllAccepted"
  /** SourcesAccepted: only additional sources are refused, which never makes Ready False. */
  | "ExtraSourceRejected"
  /** SourcesAccepted: a source cannot be read, and none is refused. */
  | "SourceUnknown"
  /** NodesLeftOut: no node is left out. */
  | "NoneLeftOut"
  /** NodesLeftOut: some nodes cannot be served now. */
  | "NodesCannotBeServed";

export type Reason = ReadyReason | ReconcilingReason | StalledReason | OtherReason;

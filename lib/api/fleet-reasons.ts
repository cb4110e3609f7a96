/**
 * The conditions of FleetSecret and of joined clusters' ClusterProfiles, and their reasons, like
 * reasons.ts for GlobalPullSecret.
 */

/** Conditions of a FleetSecret → what it means when it is True. */
export const fleetConditions = {
  Ready: "Clusters are selected, and every one of them has the source's content.",
  Reconciling: "Not Ready, and the program continues by itself.",
  Stalled: "Not Ready, and you have to act. Never together with Reconciling.",
  Available:
    "At least `spec.rollout.minAvailable` of the reachable clusters have the content, and more than half of the selected clusters.",
  Warning: "The object may do more than you intend. It changes no other condition.",
} as const;

/** Reasons of Ready and Reconciling. */
export const fleetReasons = {
  Done: "Ready: nothing is left to do.",
  Progressing: "Clusters wait, are changing, or are leaving.",
  NoClusters: "No cluster is selected; look at the labels.",
  Unreachable: "Some clusters cannot be reached; all others have the Secret.",
  Paused: "`spec.managementState` is Paused.",
  Refused: "Some clusters refuse the Secret, or do not use it; the others are served.",
  Slow: "Some clusters have not proved the Secret within two minutes.",
} as const;

/** Reasons when you have to act. */
export const fleetStalledReasons = {
  InventoryUnreadable: "The inventory of clusters cannot be read; nothing changes.",
  SourceMissing: "The source does not exist, or has no entries; copies stay.",
  SourceUnreadable: "The source cannot be read; copies stay.",
  SourceRefused: "The source is invalid, or of a type that is not copied; copies stay.",
  Halted:
    "The first two clusters, or more than `spec.rollout.maxFailures`, refuse the content. No other cluster gets it.",
  TooManyClusters: "More clusters are selected than one object serves.",
} as const;

/** Reasons of Warning. */
export const fleetWarningReasons = {
  EveryNamespace: "`namespaceSelector` selects every namespace.",
  EveryProfile: "`clusterProfiles.selector` selects every profile.",
  ByClusterAPI: "`via` is ClusterResourceSet, which does not repair, remove or prove the Secret.",
  None: "No warning.",
} as const;

/** Conditions of a joined cluster's ClusterProfile → what it means when it is True. */
export const joinedConditions = {
  Joined: "The cluster accepts the token of its join. A cluster that is away keeps its last state.",
  ControlPlaneHealthy: "Its API server is ready.",
  AccountGuarded: "Admission policies in the cluster limit the account.",
} as const;

/** Reasons of these conditions. */
export const joinedReasons = {
  TokenAccepted: "Joined: the API server accepts the token.",
  TokenRefused: "Joined: the API server refuses the token. Join the cluster again.",
  NoCredential: "Joined: the cluster's credential is missing or refused.",
  NotReached: "Joined: the cluster has not been reached yet.",
  Ready: "ControlPlaneHealthy: `/readyz` answers ok.",
  NotReady: "ControlPlaneHealthy: `/readyz` answers something else.",
  Unreachable: "ControlPlaneHealthy: the API server cannot be reached.",
  NotAsked: "Not checked: the credential is missing, or the API server is not ready.",
  PoliciesInPlace: "AccountGuarded: the policies are as the join made them.",
  PoliciesMissing: "AccountGuarded: the policies are missing or changed. Join the cluster again.",
} as const;

export type FleetConditionType = keyof typeof fleetConditions;
export type FleetReason = keyof typeof fleetReasons;
export type FleetStalledReason = keyof typeof fleetStalledReasons;
export type FleetWarningReason = keyof typeof fleetWarningReasons;
export type JoinedConditionType = keyof typeof joinedConditions;
export type JoinedReason = keyof typeof joinedReasons;

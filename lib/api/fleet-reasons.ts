/**
 * The conditions of FleetSecret and of joined clusters' ClusterProfiles, and their reasons: as
 * reasons.ts has those of GlobalPullSecret.
 */

/** Conditions of a FleetSecret → what it means when it is True. */
export const fleetConditions = {
  Ready: "Clusters are selected, and every one of them has what the source says.",
  Reconciling: "Not Ready, and the program goes on by itself.",
  Stalled: "Not Ready, and only a person can go on. Never together with Reconciling.",
  Warning: "The object asks for what not everybody intends. It changes no other condition.",
} as const;

/** Reasons of Ready and Reconciling. */
export const fleetReasons = {
  Done: "Ready: nothing is left to do.",
  Progressing: "Clusters wait, are at it, or are leaving.",
  NoClusters: "No cluster is selected; look at the labels.",
  Unreachable: "Some clusters cannot be reached; all others have it.",
  Paused: "`spec.managementState` is Paused.",
  Refused: "Some clusters cannot take it; the others are served.",
} as const;

/** Reasons when only a person can go on. */
export const fleetStalledReasons = {
  InventoryUnreadable: "It cannot be read which clusters are selected; everything stays as it is.",
  SourceMissing: "There is no such Secret; what is placed stays.",
  SourceUnreadable: "The Secret may not be read; what is placed stays.",
  SourceRefused: "The Secret may not be brought anywhere; what is placed stays.",
  Halted:
    "The canary and one more cluster, or more than `spec.rollout.maxFailures`, refuse the content; no other gets it.",
  TooManyClusters: "More clusters are selected than one object serves.",
} as const;

/** Reasons of Warning. */
export const fleetWarningReasons = {
  EveryNamespace: "`namespaceSelector` selects every namespace.",
  EveryProfile: "`clusterProfiles.selector` selects every profile.",
  ByClusterAPI: "`via` is ClusterResourceSet, which neither repairs, removes nor proves.",
  None: "There is nothing to warn of.",
} as const;

/** Conditions of a joined cluster's ClusterProfile → what it means when it is True. */
export const joinedConditions = {
  Joined: "The cluster takes the token that its join made. One that is away stays as it was.",
  ControlPlaneHealthy: "Its API server says that it is ready.",
  AccountGuarded: "Admission policies there hold its account to its task.",
} as const;

/** Reasons of these conditions. */
export const joinedReasons = {
  TokenAccepted: "Joined: the API server takes the token.",
  TokenExpired: "Joined: the token has run out. Join it again.",
  TokenRefused: "Joined: the API server refuses the token. Join it again.",
  NoCredential: "Joined: there is no way to the cluster, or one that is refused.",
  NotReached: "Joined: the cluster has not been reached yet.",
  Ready: "ControlPlaneHealthy: `/readyz` answers ok.",
  NotReady: "ControlPlaneHealthy: `/readyz` answers something else.",
  Unreachable: "ControlPlaneHealthy: the API server cannot be reached.",
  NotAsked: "It was not asked: there is no way or token, or its API server is not ready.",
  PoliciesInPlace: "AccountGuarded: they are there, as the join made them.",
  PoliciesMissing: "AccountGuarded: they are gone, or changed. Join it again.",
} as const;

export type FleetConditionType = keyof typeof fleetConditions;
export type FleetReason = keyof typeof fleetReasons;
export type FleetStalledReason = keyof typeof fleetStalledReasons;
export type FleetWarningReason = keyof typeof fleetWarningReasons;
export type JoinedConditionType = keyof typeof joinedConditions;
export type JoinedReason = keyof typeof joinedReasons;

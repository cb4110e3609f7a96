/**
 * The conditions of FleetSecret and of joined clusters' ClusterProfiles, and their reasons, like
 * reasons.ts for GlobalPullSecret.
 */

/** Conditions of a FleetSecret → what it means when it is True. */
export const fleetConditions = {
  Ready: "Clusters are selected, and every one of them has the source's content.",
  Reconciling: "Not Ready; the program continues by itself.",
  Stalled: "Not Ready, and a person must act. Never together with Reconciling.",
  Warning: "The object requests something that may not be intended. It changes no other condition.",
} as const;

/** Reasons of Ready and Reconciling. */
export const fleetReasons = {
  Done: "Ready: nothing is left to do.",
  Progressing: "Clusters wait, are being updated, or are leaving.",
  NoClusters: "No cluster is selected; check the labels.",
  Unreachable: "Some clusters cannot be reached; all others have it.",
  Paused: "`spec.managementState` is Paused.",
  Refused: "Some clusters cannot take it; the others are served.",
} as const;

/** Reasons when only a person can go on. */
export const fleetStalledReasons = {
  InventoryUnreadable: "The selected clusters cannot be determined; everything stays as it is.",
  SourceMissing: "The Secret does not exist; placed Secrets stay.",
  SourceUnreadable: "The program has no right to read the Secret; placed Secrets stay.",
  SourceRefused: "The Secret may not be distributed; placed Secrets stay.",
  Halted:
    "The canary and one more cluster, or more than `spec.rollout.maxFailures`, refuse the content; no other cluster gets it.",
  TooManyClusters: "More clusters are selected than one object serves.",
} as const;

/** Reasons of Warning. */
export const fleetWarningReasons = {
  EveryNamespace: "`namespaceSelector` selects every namespace.",
  EveryProfile: "`clusterProfiles.selector` selects every profile.",
  ByClusterAPI: "`via` is ClusterResourceSet, which neither repairs, removes nor proves.",
  None: "There is no warning.",
} as const;

/** Conditions of a joined cluster's ClusterProfile → what it means when it is True. */
export const joinedConditions = {
  Joined:
    "The cluster accepts the token that its join created. Unchanged while the cluster is away.",
  ControlPlaneHealthy: "Its API server reports that it is ready.",
  AccountGuarded: "Admission policies there restrict its account to its task.",
} as const;

/** Reasons of these conditions. */
export const joinedReasons = {
  TokenAccepted: "Joined: the API server accepts the token.",
  TokenExpired: "Joined: the token has expired. Join the cluster again.",
  TokenRefused: "Joined: the API server refuses the token. Join the cluster again.",
  NoCredential: "Joined: the profile has no valid access to the cluster.",
  NotReached: "Joined: the cluster has not been reached yet.",
  Ready: "ControlPlaneHealthy: `/readyz` answers ok.",
  NotReady: "ControlPlaneHealthy: `/readyz` answers something else.",
  Unreachable: "ControlPlaneHealthy: the API server cannot be reached.",
  NotAsked:
    "It was not checked: there is no valid access or token, or its API server is not ready.",
  PoliciesInPlace: "AccountGuarded: the policies exist, as the join created them.",
  PoliciesMissing: "AccountGuarded: the policies are gone, or changed. Join the cluster again.",
} as const;

export type FleetConditionType = keyof typeof fleetConditions;
export type FleetReason = keyof typeof fleetReasons;
export type FleetStalledReason = keyof typeof fleetStalledReasons;
export type FleetWarningReason = keyof typeof fleetWarningReasons;
export type JoinedConditionType = keyof typeof joinedConditions;
export type JoinedReason = keyof typeof joinedReasons;

/** The conditions of SyncSecret and their reasons, like reasons.ts for GlobalPullSecret. */

/** Condition → what it means when it is True. */
export const syncConditions = {
  Ready: "The Secret in the management cluster has the declared content.",
  Stalled: "Not Ready, and a person must act.",
  Warning: "It is served now, but soon will not be. It changes no other condition.",
} as const;

/** Reasons when it is Ready, or while the program continues by itself. */
export const syncReasons = {
  Synced: "Ready: the Secret has the declared content.",
  Waiting: "The copy exists; its Secret is not reported yet.",
  Leaving: "The object is deleted, and what was made from it still exists.",
  Unreachable: "The cluster where something must be made does not answer.",
} as const;

/** Reasons when only a person can go on. */
export const syncStalledReasons = {
  Invalid: "The declared content is not valid for a Secret of its type, or is too large.",
  Copied: "It is itself a copy from another cluster, and is not copied further.",
  Foreign: "An object with that name belongs to another program.",
  Refused: "The API server or admission refuses or changes it, or another client keeps undoing it.",
} as const;

/** Reasons of Warning. */
export const syncWarningReasons = {
  TokenEnds: "The token for the management cluster ends soon, and could not be renewed.",
  None: "There is no warning.",
} as const;

export type SyncConditionType = keyof typeof syncConditions;
/** A reason of any condition. */
export type SyncReason = keyof typeof syncReasons | keyof typeof syncStalledReasons;
export type SyncWarningReason = keyof typeof syncWarningReasons;

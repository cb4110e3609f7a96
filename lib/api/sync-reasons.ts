/** The conditions of SyncSecret and their reasons, like reasons.ts for GlobalPullSecret. */

/** Condition → what it means when it is True. */
export const syncConditions = {
  Ready: "The Secret in the management cluster is as declared.",
  Stalled: "Not Ready, and you have to act.",
  Warning: "The object is served now, but service may end soon. It changes no other condition.",
} as const;

/** Reasons when the SyncSecret is Ready, or when the program continues by itself. */
export const syncReasons = {
  Synced: "Ready: the Secret is as declared.",
  Waiting: "The copy exists, and does not report its Secret yet.",
  Leaving: "The object is deleted, and its copy or Secret still exists.",
  Unreachable: "The other cluster does not answer, so the Secret is unknown after ten minutes.",
} as const;

/** Reasons when you have to act. */
export const syncStalledReasons = {
  Invalid: "The content is not valid for its type, or too large.",
  Copied: "It is a copy from another cluster, and is not copied again.",
  Foreign: "An object with the name was made by another client.",
  Denied: "The management cluster refuses the token, so it is unknown whether the Secret exists.",
  Refused: "The API server or admission refuses or changes it, or another client keeps undoing it.",
} as const;

/** Reasons of Warning. */
export const syncWarningReasons = {
  TokenEnds: "The token for the management cluster ends soon, and could not be renewed.",
  None: "No warning.",
} as const;

export type SyncConditionType = keyof typeof syncConditions;
/** A reason of any condition. */
export type SyncReason = keyof typeof syncReasons | keyof typeof syncStalledReasons;
export type SyncWarningReason = keyof typeof syncWarningReasons;

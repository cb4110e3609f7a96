/** The conditions of SyncSecret and their reasons: as reasons.ts has those of GlobalPullSecret. */

/** Condition → what it means when it is True. */
export const syncConditions = {
  Ready: "The Secret in the management cluster holds what is declared.",
  Stalled: "Not Ready, and only a person can go on.",
  Warning: "It is served, and soon will not be. It changes no other condition.",
} as const;

/** Reasons when it is Ready, or when the program goes on by itself. */
export const syncReasons = {
  Synced: "Ready: the Secret holds what is declared.",
  Waiting: "The copy is there, and its Secret is not told of yet.",
  Leaving: "The object is deleted, and what was made of it is not gone yet.",
  Unreachable: "The cluster in which something is to be made does not answer.",
} as const;

/** Reasons when only a person can go on. */
export const syncStalledReasons = {
  Invalid: "What is declared cannot be a Secret of its type, or is too much.",
  Copied: "It is itself a copy from another cluster, and is not copied on.",
  Foreign: "An object under the name is somebody else's.",
  Refused: "The API server, or admission, refuses or changes it, or somebody keeps undoing it.",
} as const;

/** Reasons of Warning. */
export const syncWarningReasons = {
  TokenEnds: "The token for the management cluster ends soon, and could not be renewed.",
  None: "There is nothing to warn of.",
} as const;

export type SyncConditionType = keyof typeof syncConditions;
/** A reason of any condition. */
export type SyncReason = keyof typeof syncReasons | keyof typeof syncStalledReasons;
export type SyncWarningReason = keyof typeof syncWarningReasons;

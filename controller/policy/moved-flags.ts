/**
 * Flags that became fields of GlobalPullSecret in 0.2. One that is still given stops the
 * controller: obeyed, it would be a second policy beside the object; ignored, it would be none.
 */

const fields = {
  conflicts: "conflictPolicy",
  "max-unavailable": "rollout.maxUnavailable",
  "max-failures": "rollout.maxFailures",
  probation: "rollout.probation",
  "min-interval": "rollout.minInterval",
  restart: "delivery.mode",
  "withdrawal-grace": "withdrawal.grace",
  "withdrawal-deadline": "withdrawal.deadline",
  "forget-after": "withdrawal.forgetAfter",
  // Their names in version 0.1.
  "min-ready-seconds": "rollout.probation",
  "removal-grace": "withdrawal.grace",
  "drain-deadline": "withdrawal.deadline",
} as const;

/** Flag → the message about it. */
export const moved: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(fields).map(([flag, field]) => [
    flag,
    `is spec.${field} of GlobalPullSecret cluster; set it there and remove the flag`,
  ]),
);

/**
 * Which policy is in force, of what is declared now and of what was accepted last. Pure. Nothing
 * that somebody writes into the object stops the controller: what cannot be followed leaves the
 * policy as it is.
 */
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { reasonAnnotation, retryAnnotation, withdrawNowAnnotation } from "#contract/names.ts";
import { allowedDefaults } from "./defaults.ts";
import { policyOf } from "./spec.ts";
import type { Installed, Policy } from "./policy.ts";

/**
 * The object as it was read. `absent`: there is none, or no definition of it. `unreadable`: nobody
 * can say, for the right to read it is missing.
 */
export type Declared = GlobalPullSecret | "absent" | "unreadable";

/** What people ask for once, by annotations of the object. */
export type Wishes = Readonly<{
  /** Another value than before asks for one more try of what halted. */
  retry: string;
  /** A withdrawal skips its grace. */
  withdrawNow: boolean;
  /** Why it is paused or withdrawn, in a person's words; empty where nobody said so. */
  reason: string;
}>;

export type InForce = Readonly<{
  policy: Policy;
  /** To be remembered, for the time when what is declared cannot be followed. */
  accepted: GlobalPullSecretSpec | undefined;
  /** Why the spec is not in force; empty when it is. */
  problems: readonly string[];
  /** The spec asks for what a pause holds. */
  waits: boolean;
  wishes: Wishes;
}>;

/** Longer ones are cut, so that a condition's message stays readable. */
const longestReason = 256;

/** `accepted`: what was remembered of the last spec that could be followed. */
export function inForce(
  installed: Installed,
  declared: Declared,
  accepted: GlobalPullSecretSpec | undefined,
): InForce {
  const nothing = { problems: [], waits: false, wishes: noWishes };
  const kept = keptPolicy(installed, accepted);
  if (declared === "unreadable") return { ...nothing, policy: kept, accepted };
  if (declared === "absent")
    return { ...nothing, policy: keptPolicy(installed, undefined), accepted: undefined };
  const { spec = {} } = declared;
  const wishes = wishesOf(declared);
  const managementState = spec.managementState ?? "Managed";
  const asked = policyOf(installed, spec);
  const problems = asked.ok ? [] : asked.problems;
  if (asked.ok && managementState !== "Paused")
    return { policy: asked.policy, accepted: spec, problems, waits: false, wishes };
  // Whether nodes are managed at all is beyond no limit: a pause or a withdrawal is always heeded.
  return {
    policy: { ...kept, managementState },
    accepted: { ...accepted, managementState },
    problems,
    waits: asked.ok && !isSame(asked.policy, { ...kept, managementState }),
    wishes,
  };
}

/** What was remembered, as a spec; what makes none reads as nothing. */
export function readAccepted(installed: Installed, value: unknown) {
  if (typeof value !== "object" || value === null) return undefined;
  const spec = value as GlobalPullSecretSpec;
  return policyOf(installed, spec).ok ? spec : undefined;
}

export const noWishes: Wishes = { retry: "", withdrawNow: false, reason: "" };

function wishesOf({ metadata }: GlobalPullSecret): Wishes {
  const said = metadata.annotations ?? {};
  return {
    retry: said[retryAnnotation] ?? "",
    withdrawNow: said[withdrawNowAnnotation] === "true",
    reason: (said[reasonAnnotation] ?? "").slice(0, longestReason),
  };
}

/** As accepted last, where that is still allowed; else the defaults, which always are. */
function keptPolicy(installed: Installed, accepted: GlobalPullSecretSpec | undefined): Policy {
  const kept = policyOf(installed, accepted ?? allowedDefaults(installed.limits));
  if (kept.ok) return kept.policy;
  const standard = policyOf(installed, allowedDefaults(installed.limits));
  if (standard.ok) return standard.policy;
  throw new Error(standard.problems.join("; "));
}

/** Both are made by `policyOf`, with their fields in one order. */
const isSame = (one: Policy, other: Policy) => JSON.stringify(one) === JSON.stringify(other);

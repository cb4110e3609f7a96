/**
 * Which policy is in force, of what is declared now and of what was accepted last. Pure. Nothing
 * that somebody writes into the object stops the controller: what cannot be followed leaves the
 * policy as it is.
 */
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { reasonAnnotation, retryAnnotation, withdrawNowAnnotation } from "#contract/names.ts";
import { allowedDefaults } from "./defaults.ts";
import { policyOf } from "./spec.ts";
import type { Installed, Policy } from "#controller/policy/policy.ts";

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

/** The spec that was followed last, and which object named the sources in it, by its uid. */
export type Accepted = Readonly<{ spec: GlobalPullSecretSpec; sourcesFrom: string | undefined }>;

export type InForce = Readonly<{
  policy: Policy;
  /** To be remembered, for the time when what is declared cannot be followed. */
  accepted: Accepted | undefined;
  /** Sources in force that only a deleted object named. */
  orphans: readonly string[];
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
  accepted: Accepted | undefined,
): InForce {
  const nothing = { orphans: [], problems: [], waits: false, wishes: noWishes };
  const kept = keptPolicy(installed, accepted?.spec);
  if (declared === "unreadable") return { ...nothing, policy: kept, accepted };
  if (declared === "absent") {
    const left = accepted && { ...accepted, spec: outlasting(accepted.spec) };
    return { ...nothing, policy: keptPolicy(installed, left?.spec), accepted: left };
  }
  const sources = orphaned(declared, accepted);
  const spec = { ...declared.spec, ...(sources && { sources }) };
  const sourcesFrom = sources ? accepted?.sourcesFrom : declared.metadata.uid;
  const said = {
    orphans: (sources ?? []).map(({ name }) => name),
    wishes: wishesOf(declared),
  };
  const managementState = spec.managementState ?? "Managed";
  const asked = policyOf(installed, spec);
  const problems = asked.ok ? [] : asked.problems;
  if (asked.ok && managementState !== "Paused")
    return {
      ...said,
      policy: asked.policy,
      accepted: { spec, sourcesFrom },
      problems,
      waits: false,
    };
  // Whether nodes are managed at all is beyond no limit: a pause or a withdrawal is always heeded.
  return {
    ...said,
    policy: { ...kept, managementState },
    accepted: {
      spec: { ...accepted?.spec, managementState },
      sourcesFrom: accepted?.sourcesFrom,
    },
    problems,
    waits: asked.ok && !isSame(asked.policy, { ...kept, managementState }),
  };
}

/** What was remembered; a spec that makes none reads as nothing. */
export function readAccepted(
  installed: Installed,
  { policy, sourcesFrom }: Readonly<{ policy: unknown; sourcesFrom: string | undefined }>,
): Accepted | undefined {
  if (typeof policy !== "object" || policy === null) return undefined;
  const spec = policy as GlobalPullSecretSpec;
  return policyOf(installed, spec).ok ? { spec, sourcesFrom } : undefined;
}

/**
 * Of the last spec, what is in force without any object: with the definition deleted nothing is
 * withdrawn, and nothing that was withdrawn or paused comes back. All else is the defaults.
 */
function outlasting({ sources, managementState }: GlobalPullSecretSpec): GlobalPullSecretSpec {
  return { ...(sources && { sources }), ...(managementState && { managementState }) };
}

/**
 * The sources of an object that is gone, where the one that took its place names none: a deleted
 * object must withdraw nothing. The API server's default is an empty list as well, and nobody owns
 * an empty list, so that one which was declared cannot be told from it (docs/decisions/0030).
 */
function orphaned({ metadata, spec }: GlobalPullSecret, accepted: Accepted | undefined) {
  const sources = accepted?.spec.sources ?? [];
  const theirs = accepted?.sourcesFrom;
  if (sources.length === 0 || theirs === undefined || theirs === metadata.uid) return undefined;
  const decided = (spec?.sources ?? []).length > 0 || spec?.managementState === "Withdrawn";
  return decided ? undefined : sources;
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

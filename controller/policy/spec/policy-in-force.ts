/**
 * Which policy is in force, given what is declared now and what was accepted last. Pure. Nothing
 * that somebody writes into the object stops the controller: a spec that cannot be followed leaves
 * the policy as it is.
 */
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { Wrong } from "#contract/values.ts";
import { protectable } from "#pullsecret/merge/protect.ts";
import { reasonAnnotation, retryAnnotation, withdrawNowAnnotation } from "#contract/names.ts";
import { allowedDefaults } from "./defaults.ts";
import { policyOf } from "./spec.ts";
import type { Installed, Policy } from "#controller/policy/policy.ts";

/**
 * The object as it was read. `absent`: there is none, or no definition of it. `unreadable`: nobody
 * can tell, because the right to read it is missing or it has just been deleted.
 */
export type DeclaredObject = GlobalPullSecret | "absent" | "unreadable";

/** One-time requests, made by annotations on the object. */
export type Wishes = Readonly<{
  /** A value other than the one before asks for one more try of what halted. */
  retry: string;
  /** A withdrawal skips its grace period. */
  withdrawNow: boolean;
  /** Why it is paused or withdrawn, in a person's words; empty where nobody said. */
  reason: string;
}>;

/** The spec that was last followed, and the uid of the object that named the sources in it. */
export type AcceptedSpec = Readonly<{
  spec: GlobalPullSecretSpec;
  sourcesFrom: string | undefined;
}>;

export type InForce = Readonly<{
  policy: Policy;
  /** The spec to remember, for when what is declared cannot be followed. */
  accepted: AcceptedSpec | undefined;
  /** Names of sources in force that only a deleted object named. */
  orphans: readonly string[];
  /** Why the spec is not in force; empty when it is. */
  problems: readonly string[];
  /** The spec asks for a change that a pause holds. */
  waits: boolean;
  wishes: Wishes;
}>;

/**
 * Most characters of a reason; longer ones are cut, so that a condition's message stays readable.
 */
const longestReason = 256;

/** The policy in force. `accepted`: what was remembered of the last spec that could be followed. */
export function inForce(
  installed: Installed,
  declared: DeclaredObject,
  accepted: AcceptedSpec | undefined,
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
  // managementState is beyond no limit, so a pause or a withdrawal is always obeyed.
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

/**
 * Reads what was remembered. A spec that cannot be followed reads as none. A protected registry
 * that an earlier version took, and this one refuses, protected nothing: it goes alone.
 */
export function readAccepted(
  installed: Installed,
  { policy, sourcesFrom }: Readonly<{ policy: unknown; sourcesFrom: string | undefined }>,
): AcceptedSpec | undefined {
  if (typeof policy !== "object" || policy === null) return undefined;
  const stored = policy as GlobalPullSecretSpec;
  const isKept = (one: unknown) => typeof one !== "string" || !(protectable(one) instanceof Wrong);
  const { protectedRegistries: all } = stored;
  const spec = Array.isArray(all) ? { ...stored, protectedRegistries: all.filter(isKept) } : stored;
  return policyOf(installed, spec).ok ? { spec, sourcesFrom } : undefined;
}

/**
 * The part of the last spec that stays in force without any object. When the definition is deleted,
 * nothing is withdrawn, and nothing that was withdrawn or paused comes back. The rest is the
 * defaults.
 */
function outlasting({ sources, managementState }: GlobalPullSecretSpec): GlobalPullSecretSpec {
  return { ...(sources && { sources }), ...(managementState && { managementState }) };
}

/**
 * The sources of a deleted object, where the object that took its place names none: deleting an
 * object must withdraw nothing. The API server's default is an empty list as well, and nobody owns
 * an empty list, so a declared one cannot be told from it (docs/inside/decisions/policy-object.md).
 */
function orphaned({ metadata, spec }: GlobalPullSecret, accepted: AcceptedSpec | undefined) {
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

/**
 * The policy as last accepted, where that is still allowed; else the defaults, which always are.
 */
function keptPolicy(installed: Installed, accepted: GlobalPullSecretSpec | undefined): Policy {
  const kept = policyOf(installed, accepted ?? allowedDefaults(installed.limits));
  if (kept.ok) return kept.policy;
  const standard = policyOf(installed, allowedDefaults(installed.limits));
  if (standard.ok) return standard.policy;
  throw new Error(standard.problems.join("; "));
}

/** Compares as text: `policyOf` makes both, with their fields in one order. */
const isSame = (one: Policy, other: Policy) => JSON.stringify(one) === JSON.stringify(other);

/**
 * Decides which policy is in force, from the declared spec and the last accepted spec. Pure. No
 * content of the object stops the controller: if a spec cannot be followed, the policy stays the
 * same.
 */
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { retryAnnotation } from "#contract/names.ts";
import { allowedDefaults, beyondLimits } from "./defaults.ts";
import { policyOf, translate } from "./spec.ts";
import type { Installed, Limits, Policy } from "./policy.ts";

/** The last accepted spec, and the uid of the object that listed its sources. */
export type AcceptedSpec = Readonly<{
  spec: GlobalPullSecretSpec;
  sourcesFrom: string | undefined;
}>;

export type InForce = Readonly<{
  policy: Policy;
  /** The spec to record. The controller uses it when it cannot follow the declared spec. */
  accepted: AcceptedSpec | undefined;
  /** Names of sources that are in force although only a deleted object listed them. */
  orphans: readonly string[];
  /** Why the declared spec is not in force. Empty if the spec is in force. */
  problems: readonly string[];
  /** True if a pause delays a change that the spec requests. */
  waits: boolean;
  /** A new value requests one more try of a halted revision. Empty if there is no request. */
  retry: string;
}>;

/**
 * Decides the policy in force. `declared` is undefined if the object does not exist, or cannot be
 * read after a policy was accepted. The policy then stays the same. So if the object or its CRD is
 * deleted, nothing is withdrawn, no pause and no withdrawal ends, and no more pods get a
 * credential.
 */
export function inForce(
  installed: Installed,
  declared: GlobalPullSecret | undefined,
  accepted: AcceptedSpec | undefined,
): InForce {
  const lastPolicy = keptPolicy(installed, accepted?.spec);
  if (declared === undefined)
    return {
      policy: lastPolicy,
      accepted,
      orphans: [],
      problems: [],
      waits: false,
      retry: "",
    };
  const sources = orphaned(declared, accepted);
  const spec = { ...declared.spec, ...(sources && { sources }) };
  const sourcesFrom = sources ? accepted?.sourcesFrom : declared.metadata.uid;
  const common = {
    orphans: (sources ?? []).map(({ name }) => name),
    retry: declared.metadata.annotations?.[retryAnnotation] ?? "",
  };
  const managementState = spec.managementState ?? "Managed";
  const asked = policyOf(installed, spec);
  const problems = asked.ok ? [] : asked.problems;
  if (asked.ok && managementState !== "Paused")
    return {
      ...common,
      policy: asked.policy,
      accepted: { spec, sourcesFrom },
      problems,
      waits: false,
    };
  // managementState has no limit, so the controller always follows a pause or a withdrawal.
  return {
    ...common,
    policy: { ...lastPolicy, managementState },
    accepted: {
      spec: { ...accepted?.spec, managementState },
      sourcesFrom: accepted?.sourcesFrom,
    },
    problems,
    waits: asked.ok && !isSame(asked.policy, { ...lastPolicy, managementState }),
  };
}

/**
 * Reads the recorded spec, without fields that are not allowed any more. Undefined if the remaining
 * fields cannot be followed.
 */
export function readAccepted(
  installed: Installed,
  { policy, sourcesFrom }: Readonly<{ policy: unknown; sourcesFrom: string | undefined }>,
): AcceptedSpec | undefined {
  if (typeof policy !== "object" || policy === null) return undefined;
  try {
    const spec = allowedPart(installed.limits, policy);
    return translate(installed, spec).ok ? { spec, sourcesFrom } : undefined;
  } catch {
    // After an edit, the recorded spec can have any content.
    return undefined;
  }
}

/** Whether only annotated pods get the credentials. Every other delivery serves all pods. */
const isScoped = ({ mode, credentialProvider }: NonNullable<GlobalPullSecretSpec["delivery"]>) =>
  mode === "CredentialProvider" && credentialProvider?.scope === "Annotated";

/**
 * The sources of a deleted object, if another client's object replaces it and names no sources,
 * because the deletion of an object must withdraw nothing. We cannot recognize a user who declares
 * an empty list: the API server's default is also an empty list, and an empty list has no field
 * owner (docs/inside/decisions/policy-object.md).
 */
function orphaned({ metadata, spec }: GlobalPullSecret, accepted: AcceptedSpec | undefined) {
  const sources = accepted?.spec.sources ?? [];
  const theirs = accepted?.sourcesFrom;
  if (sources.length === 0 || theirs === undefined || theirs === metadata.uid) return undefined;
  const decided = (spec?.sources ?? []).length > 0 || spec?.managementState === "Withdrawn";
  return decided ? undefined : sources;
}

/** The last accepted policy, as far as it is still allowed. Without one, the defaults. */
function keptPolicy(installed: Installed, accepted: GlobalPullSecretSpec = {}): Policy {
  const translated = translate(installed, allowedPart(installed.limits, accepted));
  if (translated.ok) return translated.policy;
  const standard = policyOf(installed, allowedDefaults(installed.limits));
  if (standard.ok) return standard.policy;
  throw new Error(standard.problems.join("; "));
}

/**
 * An earlier spec without the fields that exceed a limit of the installer. The other fields stay,
 * so a lower limit does not withdraw the spec's sources. Scope Annotated stays even if its mode is
 * not allowed any more, because any other delivery would give the credentials to every pod.
 */
function allowedPart(limits: Limits, spec: GlobalPullSecretSpec): GlobalPullSecretSpec {
  const { rollout, delivery, ...others } = spec;
  const { maxUnavailable, ...slower } = rollout ?? {};
  const isFast = maxUnavailable !== undefined && isBeyond(limits, { rollout: { maxUnavailable } });
  const isDropped = delivery && !isScoped(delivery) && isBeyond(limits, { delivery });
  return {
    ...others,
    ...(rollout && { rollout: isFast ? slower : rollout }),
    ...(delivery && !isDropped && { delivery }),
  };
}

const isBeyond = (limits: Limits, spec: GlobalPullSecretSpec) =>
  beyondLimits(limits, spec).length > 0;

/** Compares as text, because `policyOf` always writes the fields in the same order. */
const isSame = (policy: Policy, other: Policy) => JSON.stringify(policy) === JSON.stringify(other);

/**
 * Decides which policy is in force, from the declared spec and the last accepted spec. Pure. No
 * content of the object stops the controller: if a spec cannot be followed, the policy stays the
 * same.
 */
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { Wrong } from "#contract/values.ts";
import { protectable } from "#pullsecret/merge/protect.ts";
import { atomicObjects } from "#kube/client/declared-by.ts";
import { reasonAnnotation, retryAnnotation, withdrawNowAnnotation } from "#contract/names.ts";
import { allowedDefaults } from "./defaults.ts";
import { policyOf } from "./spec.ts";
import type { Installed, Policy } from "./policy.ts";

/**
 * The object as it was read. `absent`: the object or its CRD does not exist. `unreadable`: the spec
 * is unknown, because the controller cannot read the object, or because the object has just been
 * deleted.
 */
export type DeclaredObject = GlobalPullSecret | "absent" | "unreadable";

/** One-time requests, which users make by annotations on the object. */
export type Requests = Readonly<{
  /** A new value requests one more try of a halted revision. */
  retry: string;
  /** Requests a withdrawal without grace period. */
  withdrawNow: boolean;
  /**
   * Why the object is paused or withdrawn, in the administrator's words. Empty if no reason is
   * given.
   */
  reason: string;
}>;

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
  requests: Requests;
}>;

/** Longest reason. Longer reasons are cut, so that a condition's message stays readable. */
const longestReason = 256;

/**
 * Decides the policy in force. `accepted`: the recorded spec. `declares`: the installer's
 * `--policy`, which is used if the object is absent or unreadable.
 */
export function inForce(
  installed: Installed,
  declared: DeclaredObject,
  accepted: AcceptedSpec | undefined,
  declares: GlobalPullSecretSpec = {},
): InForce {
  const nothing = { orphans: [], problems: [], waits: false, requests: noRequests };
  if (declared === "unreadable")
    return { ...nothing, policy: keptPolicy(installed, accepted?.spec ?? declares), accepted };
  if (declared === "absent") {
    const lasting = outlasting(accepted?.spec ?? {}, declares);
    const spec = stillAllowed(installed, laidOver(declares, lasting))?.spec ?? lasting;
    const left = { spec, sourcesFrom: accepted?.sourcesFrom };
    return { ...nothing, policy: keptPolicy(installed, spec), accepted: left };
  }
  const kept = keptPolicy(installed, accepted?.spec);
  const sources = orphaned(declared, accepted);
  const spec = { ...declared.spec, ...(sources && { sources }) };
  const sourcesFrom = sources ? accepted?.sourcesFrom : declared.metadata.uid;
  const common = {
    orphans: (sources ?? []).map(({ name }) => name),
    requests: requestsOf(declared),
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
 * Reads the recorded spec, without fields that are not allowed any more. Undefined if the remaining
 * fields cannot be followed. If this version refuses a protected registry that an earlier version
 * accepted, only that registry is dropped, because that registry never protected anything.
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
  const kept = stillAllowed(installed, spec);
  return kept && { spec: kept.spec, sourcesFrom };
}

/**
 * The part of the last spec that stays in force without an object. Deleting the CRD withdraws
 * nothing, ends neither a withdrawal nor a pause, and gives no credential to more pods. Everything
 * else returns to the installer's policy and the defaults.
 */
function outlasting(
  spec: GlobalPullSecretSpec,
  declares: GlobalPullSecretSpec,
): GlobalPullSecretSpec {
  const { sources, managementState } = spec;
  const isStopped = managementState !== undefined && managementState !== "Managed";
  return {
    ...(sources && { sources }),
    ...(isStopped && { managementState }),
    ...lastingScope(spec, declares),
  };
}

/**
 * The delivery with scope Annotated. It stays in force after the object is deleted, until another
 * delivery is declared. Empty for other deliveries, and if the installer declares a delivery.
 */
export const lastingScope = (
  spec: GlobalPullSecretSpec,
  declares: GlobalPullSecretSpec,
): Pick<GlobalPullSecretSpec, "delivery"> =>
  isScoped(spec) && spec.delivery && declares.delivery === undefined
    ? { delivery: spec.delivery }
    : {};

/** Whether only annotated pods get the credentials. Every other delivery serves all pods. */
const isScoped = ({ delivery }: GlobalPullSecretSpec) =>
  delivery?.mode === "CredentialProvider" && delivery.credentialProvider?.scope === "Annotated";

/**
 * The sources of a deleted object, if its replacement names no sources, because the deletion of an
 * object must withdraw nothing. We cannot recognize a user who declares an empty list: the API
 * server's default is also an empty list, and an empty list has no field owner
 * (docs/inside/decisions/policy-object.md).
 */
function orphaned({ metadata, spec }: GlobalPullSecret, accepted: AcceptedSpec | undefined) {
  const sources = accepted?.spec.sources ?? [];
  const theirs = accepted?.sourcesFrom;
  if (sources.length === 0 || theirs === undefined || theirs === metadata.uid) return undefined;
  const decided = (spec?.sources ?? []).length > 0 || spec?.managementState === "Withdrawn";
  return decided ? undefined : sources;
}

export const noRequests: Requests = { retry: "", withdrawNow: false, reason: "" };

function requestsOf({ metadata }: GlobalPullSecret): Requests {
  const annotations = metadata.annotations ?? {};
  return {
    retry: annotations[retryAnnotation] ?? "",
    withdrawNow: annotations[withdrawNowAnnotation] === "true",
    reason: (annotations[reasonAnnotation] ?? "").slice(0, longestReason),
  };
}

/**
 * The spec with these fields laid over it, as an apply would set them. Other fields and other items
 * of lists stay. An item with a name is laid over the item with the same name.
 */
export const laidOver = (
  spec: GlobalPullSecretSpec | undefined,
  fields: GlobalPullSecretSpec,
): GlobalPullSecretSpec => over(spec, fields) as GlobalPullSecretSpec;

type Fields = Readonly<Record<string, unknown>>;

function over(below: unknown, above: unknown): unknown {
  if (Array.isArray(above)) {
    const items = new Map<unknown, unknown>();
    for (const one of [...(Array.isArray(below) ? below : []), ...above]) {
      const key = (Object(one) as Fields)["name"] ?? one;
      items.set(key, over(items.get(key), one));
    }
    return [...items.values()];
  }
  if (typeof above !== "object" || above === null) return above;
  const others = Object(below) as Fields;
  const set = Object.entries(above).map(([name, one]) => [
    name,
    atomicObjects.includes(name) ? one : over(others[name], one),
  ]);
  return { ...others, ...Object.fromEntries(set) };
}

/** The last accepted policy, as far as it is still allowed. */
function keptPolicy(installed: Installed, accepted: GlobalPullSecretSpec | undefined): Policy {
  const kept = stillAllowed(installed, accepted ?? {});
  if (kept !== undefined) return kept.policy;
  const standard = policyOf(installed, allowedDefaults(installed.limits));
  if (standard.ok) return standard.policy;
  throw new Error(standard.problems.join("; "));
}

type Kept = Readonly<{ spec: GlobalPullSecretSpec; policy: Policy }>;

/**
 * An earlier spec without the fields that exceed a limit of the installer. The other fields stay,
 * so a lower limit does not withdraw the spec's sources. Undefined if the other fields cannot be
 * followed.
 */
function stillAllowed(installed: Installed, spec: GlobalPullSecretSpec): Kept | undefined {
  const { rollout } = spec;
  const smaller = rollout ? { ...spec, rollout: without("maxUnavailable", rollout) } : spec;
  for (const rest of [spec, smaller, without("delivery", spec), without("delivery", smaller)]) {
    const read = policyOf(withOwnMode(installed, rest), rest);
    if (read.ok) return { spec: rest, policy: read.policy };
  }
  return undefined;
}

const without = (field: string, fields: object): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name !== field));

/**
 * The installer's limits, with the mode of scope Annotated also allowed if the spec has this scope.
 * Any other delivery would give the credentials to every pod.
 */
function withOwnMode(installed: Installed, spec: GlobalPullSecretSpec): Installed {
  if (!isScoped(spec)) return installed;
  const deliveryModes = [...installed.limits.deliveryModes, "CredentialProvider"] as const;
  return { ...installed, limits: { ...installed.limits, deliveryModes } };
}

/** Compares as text, because `policyOf` always writes the fields in the same order. */
const isSame = (one: Policy, other: Policy) => JSON.stringify(one) === JSON.stringify(other);

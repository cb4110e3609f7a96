/** The status that the controller writes to a joined cluster's ClusterProfile. Pure. */
import type { V1Condition, V1Secret } from "@kubernetes/client-node";
import type { ClusterProfile, ClusterProfileStatus } from "#api/cluster-profile.ts";
import type { JoinedReason } from "#api/fleet-reasons.ts";
import {
  contextAnnotation,
  serverAnnotation,
  serverNameAnnotation,
  systemRootsAnnotation,
  tokenKey,
} from "#contract/joined.ts";
import { conditionOf, timed, timeOf } from "#kube/conditions.ts";
import { ageOfToken, timesIn } from "#kube/token.ts";

/** The result of observing a cluster once. */
export type FoundCluster =
  | Readonly<{
      kind: "answers";
      version: string;
      ready: boolean;
      /** Undefined: not checked. */
      guarded: boolean | undefined;
    }>
  /** The API server refuses the token. */
  | Readonly<{ kind: "refused" }>
  | Readonly<{ kind: "away"; why: string }>
  /** We did not connect, because the credential is missing or not valid. */
  | Readonly<{ kind: "noAccess"; why: string }>;

type NewCondition = Readonly<{
  status: "True" | "False" | "Unknown";
  reason: JoinedReason;
  message: string;
}>;

/** The part of status that we write: the conditions and the version. */
export function statusOf(
  profile: ClusterProfile,
  observation: FoundCluster,
  now: Date,
): Pick<ClusterProfileStatus, "conditions" | "version"> {
  const former = profile.status ?? {};
  const formerCondition = conditionOf(former, "Joined");
  const kubernetes =
    observation.kind === "answers" ? observation.version : former.version?.kubernetes;
  return {
    conditions: timed(
      [
        { type: "Joined", ...joined(profile, observation, formerCondition) } as const,
        { type: "ControlPlaneHealthy", ...healthy(observation) } as const,
        { type: "AccountGuarded", ...guarded(profile, observation) } as const,
      ],
      former.conditions,
      // The client's types declare a Date, but the API server expects text.
      timeOf(now) as unknown as Date,
    ),
    ...(kubernetes === undefined ? {} : { version: { kubernetes } }),
  };
}

/**
 * The condition Joined. It does not change while the cluster is unreachable, because the token
 * might still be valid.
 */
function joined(
  profile: ClusterProfile,
  observation: FoundCluster,
  formerCondition: V1Condition | undefined,
): NewCondition {
  const again = `join it again: ${joinCommand(profile)}`;
  switch (observation.kind) {
    case "answers":
      return {
        status: "True",
        reason: "TokenAccepted",
        message: "The API server accepts the token",
      };
    case "refused": {
      const message = `The API server refuses the token; ${again}`;
      return { status: "False", reason: "TokenRefused", message };
    }
    case "noAccess":
      return { status: "False", reason: "NoCredential", message: `${observation.why}; ${again}` };
    case "away":
      return formerCondition === undefined
        ? {
            status: "Unknown",
            reason: "NotReached",
            message: "The cluster has not been reached yet",
          }
        : {
            status: formerCondition.status as NewCondition["status"],
            reason: formerCondition.reason as JoinedReason,
            message: formerCondition.message,
          };
  }
}

function healthy(observation: FoundCluster): NewCondition {
  switch (observation.kind) {
    case "answers":
      return observation.ready
        ? { status: "True", reason: "Ready", message: "/readyz answers ok" }
        : { status: "False", reason: "NotReady", message: "/readyz did not answer ok" };
    case "away":
      return { status: "Unknown", reason: "Unreachable", message: observation.why };
    case "refused":
    case "noAccess":
      return {
        status: "Unknown",
        reason: "NotAsked",
        message: "Not checked without a valid token",
      };
  }
}

/**
 * The condition AccountGuarded. If someone deletes the policies, nothing limits our account in that
 * cluster. We continue, and this condition reports it.
 */
function guarded(profile: ClusterProfile, observation: FoundCluster): NewCondition {
  if (observation.kind !== "answers" || observation.guarded === undefined)
    return { status: "Unknown", reason: "NotAsked", message: "Not checked" };
  if (observation.guarded) {
    const message = "Admission policies limit the account to its task";
    return { status: "True", reason: "PoliciesInPlace", message };
  }
  const message =
    "The admission policies that limit the account to its task are missing or changed; " +
    `join it again: ${joinCommand(profile)}`;
  return { status: "False", reason: "PoliciesMissing", message };
}

/**
 * The command that an administrator runs to join the cluster again. It does not name the Secrets,
 * because a repeated join keeps the Secrets that the Roles name. It repeats --server, because the
 * management cluster might be unable to reach the server in the administrator's context.
 */
function joinCommand({ metadata: { name, annotations = {} } }: ClusterProfile): string {
  const { [serverAnnotation]: server, [serverNameAnnotation]: serverName } = annotations;
  return (
    `kubectl pull-secret fleet join ${name} ` +
    `--context ${annotations[contextAnnotation] ?? "CONTEXT"}` +
    (server === undefined ? "" : ` --server ${server}`) +
    (serverName === undefined ? "" : ` --tls-server-name ${serverName}`) +
    (annotations[systemRootsAnnotation] === undefined ? "" : " --system-roots")
  );
}

/** Whether a profile's status already shows ours. Other programs write to it too. */
export function isReported(
  status: ClusterProfileStatus | undefined,
  ownStatus: ClusterProfileStatus | undefined,
): boolean {
  const shown = (all: readonly V1Condition[] = []) =>
    all.map(({ type, status: is, reason, message }) => [type, is, reason, message].join("\n"));
  const has = new Set(shown(status?.conditions));
  return (
    shown(ownStatus?.conditions).every((condition) => has.has(condition)) &&
    status?.version?.kubernetes === ownStatus?.version?.kubernetes
  );
}

/**
 * True if half of the time of the token in a joined cluster's Secret is over. Also true after its
 * end, because the clocks of the two clusters can differ.
 */
export function isDue(secret: V1Secret | undefined, now: number): secret is V1Secret {
  const token = Buffer.from(secret?.data?.[tokenKey] ?? "", "base64").toString();
  return ["due", "expired"].includes(ageOfToken(timesIn(token), now));
}

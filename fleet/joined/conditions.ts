/** What a joined cluster's ClusterProfile says of it. Pure. */
import type { V1Condition, V1Secret } from "@kubernetes/client-node";
import type { ClusterProfile, ClusterProfileStatus } from "#api/cluster-profile.ts";
import type { JoinedReason } from "#api/fleet-reasons.ts";
import {
  contextAnnotation,
  serverAnnotation,
  serverNameAnnotation,
  systemRootsAnnotation,
  expiresAnnotation,
  issuedAnnotation,
} from "#contract/joined.ts";
import { conditionOf, timed, timeOf } from "#kube/conditions.ts";
import { ageOfToken, type Age } from "#kube/token.ts";

/** What one look at a cluster found. */
export type FoundCluster =
  | Readonly<{
      kind: "answers";
      version: string;
      ready: boolean;
      /** undefined: not asked. */
      guarded: boolean | undefined;
    }>
  /** The API server does not take the token. */
  | Readonly<{ kind: "refused" }>
  | Readonly<{ kind: "away"; why: string }>
  /** There is no way to it: no credential, or one that is refused before a connection. */
  | Readonly<{ kind: "noWay"; why: string }>;

type Word = Readonly<{
  status: "True" | "False" | "Unknown";
  reason: JoinedReason;
  message: string;
}>;

/** The part of status that is ours: conditions and version; the way to the cluster is not. */
export function statusOf(
  profile: ClusterProfile,
  found: FoundCluster,
  age: Age,
  now: Date,
): Pick<ClusterProfileStatus, "conditions" | "version"> {
  const former = profile.status ?? {};
  const known = conditionOf(former, "Joined");
  const kubernetes = found.kind === "answers" ? found.version : former.version?.kubernetes;
  return {
    conditions: timed(
      [
        { type: "Joined", ...joined(profile, found, age, known) } as const,
        { type: "ControlPlaneHealthy", ...healthy(found) } as const,
        { type: "AccountGuarded", ...guarded(profile, found) } as const,
      ],
      former.conditions,
      // The client's types say Date; on the wire it is text.
      timeOf(now) as unknown as Date,
    ),
    ...(kubernetes === undefined ? {} : { version: { kubernetes } }),
  };
}

/** A cluster that is away stays joined: nothing has been heard of its token. */
function joined(
  profile: ClusterProfile,
  found: FoundCluster,
  age: Age,
  known: V1Condition | undefined,
): Word {
  const again = `join it again: ${joinCommand(profile)}`;
  if (age === "expired")
    return { status: "False", reason: "TokenExpired", message: `The token has expired; ${again}` };
  switch (found.kind) {
    case "answers":
      return { status: "True", reason: "TokenAccepted", message: "Its API server takes the token" };
    case "refused": {
      const message = `Its API server refuses the token; ${again}`;
      return { status: "False", reason: "TokenRefused", message };
    }
    case "noWay":
      return { status: "False", reason: "NoCredential", message: `${found.why}; ${again}` };
    case "away":
      return known === undefined
        ? { status: "Unknown", reason: "NotReached", message: "It has not been reached yet" }
        : {
            status: known.status as Word["status"],
            reason: known.reason as JoinedReason,
            message: known.message,
          };
  }
}

function healthy(found: FoundCluster): Word {
  switch (found.kind) {
    case "answers":
      return found.ready
        ? { status: "True", reason: "Ready", message: "/readyz answers ok" }
        : { status: "False", reason: "NotReady", message: "/readyz does not answer ok" };
    case "away":
      return { status: "Unknown", reason: "Unreachable", message: found.why };
    case "refused":
    case "noWay":
      return { status: "Unknown", reason: "NotAsked", message: "Without a token it is not asked" };
  }
}

/** Whoever deleted the policies has opened what they close: nothing is stopped, and it is said. */
function guarded(profile: ClusterProfile, found: FoundCluster): Word {
  if (found.kind !== "answers" || found.guarded === undefined)
    return { status: "Unknown", reason: "NotAsked", message: "It was not asked" };
  if (found.guarded) {
    const message = "Admission policies hold its account to its task";
    return { status: "True", reason: "PoliciesInPlace", message };
  }
  const message =
    "The admission policies that hold its account to its task are gone, or changed; " +
    `join it again: ${joinCommand(profile)}`;
  return { status: "False", reason: "PoliciesMissing", message };
}

/**
 * As a person would run it. Its Secrets are not named: to join again keeps those of the Roles. The
 * address would be the context's, which the host may not reach.
 */
function joinCommand({ metadata: { name, annotations = {} } }: ClusterProfile): string {
  const { [serverAnnotation]: server, [serverNameAnnotation]: serverName } = annotations;
  return (
    `kubectl pull-secret clusters join ${name} ` +
    `--context ${annotations[contextAnnotation] ?? "CONTEXT"}` +
    (server === undefined ? "" : ` --server ${server}`) +
    (serverName === undefined ? "" : ` --tls-server-name ${serverName}`) +
    (annotations[systemRootsAnnotation] === undefined ? "" : " --system-roots")
  );
}

/** Whether the profile says so already. */
export function says({ status }: ClusterProfile, wanted: ReturnType<typeof statusOf>): boolean {
  const shown = (all: readonly V1Condition[] = []) =>
    all.map(({ type, status, reason, message }) => [type, status, reason, message].join("\n"));
  const has = new Set(shown(status?.conditions));
  return (
    shown(wanted.conditions).every((one) => has.has(one)) &&
    status?.version?.kubernetes === wanted.version?.kubernetes
  );
}

/** As the API server that gave the token has said, whatever had been asked for. */
export function ageOf(secret: V1Secret | undefined, now: number): Age {
  const time = (name: string) => Date.parse(secret?.metadata?.annotations?.[name] ?? "");
  const [issued, expires] = [time(issuedAnnotation), time(expiresAnnotation)];
  return ageOfToken(issued ?? Number.NaN, expires ?? Number.NaN, now);
}

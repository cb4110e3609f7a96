/** The status of a FleetSecret. Pure. */
import type {
  ClusterStatus,
  FleetCondition,
  FleetCounts,
  FleetSecretStatus,
  FleetSecretSpec,
  NamespaceSelector,
  FleetFailure,
} from "#api/fleet-secret.ts";
import type {
  FleetConditionType,
  FleetReason,
  FleetStalledReason,
  FleetWarningReason,
} from "#api/fleet-reasons.ts";
import { conditionsOf, timeOf, truth } from "#kube/conditions.ts";
import { codeOf, sentence } from "./problems.ts";
import type { Judged } from "./content.ts";

/** A cluster's entry in status, without its times. */
export type FoundCluster = Pick<ClusterStatus, "name" | "state" | "reason"> &
  Readonly<{
    /** This content was written to the cluster, or is there. */
    isStarted?: boolean;
  }>;

/** The results of one run. */
export type FoundClusters = Readonly<{
  generation: number;
  now: Date;
  /** The resourceVersion of the source. The clusters' states are about this version. */
  version: string | undefined;
  clusters: readonly FoundCluster[];
  /** Why we cannot carry out the object's spec. Undefined if nothing prevents it. */
  stalled: Readonly<{ reason: FleetStalledReason; message: string }> | undefined;
  paused: boolean;
  /** `rollout.minAvailable`. */
  minAvailable?: number | string;
  /** Clusters that this run gave up. */
  givenUp?: readonly Pick<ClusterStatus, "name" | "reason">[];
  warnings: readonly Warning[];
}>;

/**
 * The status after a run. A state, condition or failure that has not changed since `former` keeps
 * its time.
 */
export function statusOf(
  results: FoundClusters,
  former: FleetSecretStatus = {},
): FleetSecretStatus {
  const { generation, clusters } = results;
  const now = timeOf(results.now);
  const before = new Map((former.clusters ?? []).map((cluster) => [cluster.name, cluster]));
  const sameSource = former.sourceResourceVersion === results.version;
  // Replaces a time in the future, which the previous leader's clock can cause. Such a time would
  // delay a removal.
  const past = (time: string | undefined): string =>
    time !== undefined && Date.parse(time) <= Date.parse(now) ? time : now;
  const timedEntry = ({ isStarted = false, ...cluster }: FoundCluster): ClusterStatus => {
    const earlierEntry = before.get(cluster.name);
    const same =
      earlierEntry?.state === cluster.state && (sameSource || !ofContent.has(cluster.state));
    const since = past(same ? earlierEntry.since : undefined);
    const startedAt = sameSource ? earlierEntry?.startedAt : undefined;
    return {
      ...cluster,
      since,
      ...(startedAt !== undefined || isStarted ? { startedAt: past(startedAt) } : {}),
    };
  };
  const counts = countsOf(clusters);
  const timed = clusters.map(timedEntry);
  const givenUp = givenUpOf(clusters, results.givenUp ?? [], former.givenUp, now);
  return {
    observedGeneration: generation,
    ...(results.version === undefined ? {} : { sourceResourceVersion: results.version }),
    summary: `${counts.done}/${counts.selected}`,
    counts,
    clusters: timed,
    failures: failuresOf(timed, former.failures, now),
    ...(givenUp.length === 0 ? {} : { givenUp }),
    conditions: conditionsOf(rowsOf(results), generation, former.conditions, now),
  };
}

/** States that are about one content. When the content changes, their times start again. */
const ofContent: ReadonlySet<ClusterStatus["state"]> = new Set([
  "Waiting",
  "Progressing",
  "Done",
  "Failed",
]);

function countsOf(clusters: FoundClusters["clusters"]): FleetCounts {
  const count = (state: ClusterStatus["state"]) =>
    clusters.filter((cluster) => cluster.state === state).length;
  const leaving = count("Leaving");
  return {
    selected: clusters.length - leaving,
    done: count("Done"),
    waiting: count("Waiting"),
    progressing: count("Progressing"),
    failed: count("Failed"),
    unreachable: count("Unreachable"),
    leaving,
  };
}

type Row = Readonly<{
  type: FleetConditionType;
  status: FleetCondition["status"];
  reason: FleetReason | FleetStalledReason | FleetWarningReason;
  message: string;
}>;

/**
 * Ready, Reconciling and Stalled, by the rules of kstatus: at most one of them is True. Available
 * does not wait for clusters that are away, or for a few that need a person.
 */
function rowsOf(results: FoundClusters): readonly Row[] {
  const { clusters, stalled, paused, warnings } = results;
  const counts = countsOf(clusters);
  const { selected, done, waiting, progressing, failed, unreachable, leaving } = counts;
  const numbers = [
    `${done} of ${selected} clusters have it`,
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(progressing > 0 ? [`${progressing} changing`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(unreachable > 0 ? [`${unreachable} unreachable`] : []),
    ...(leaving > 0 ? [`${leaving} leaving`] : []),
  ].join(", ");
  const held = clusters.filter((cluster) => isHeld(cluster)).length;
  const moving = waiting - held + progressing + leaving > 0;
  const whole = selected > 0 && done === selected && leaving === 0;
  const ready = stalled === undefined && !paused && whole;
  const slow = clusters.filter((cluster) => isSlow(cluster)).length;
  const reason = stalled?.reason ?? (paused ? "Paused" : reasonOf(counts, slow, held));
  const message = stalled?.message ?? numbers;
  // True even while clusters are unreachable or no cluster is selected, because we continue by
  // ourselves when a cluster answers again or is selected.
  const going =
    stalled === undefined &&
    !paused &&
    (moving || unreachable > 0 || (failed + held === 0 && !whole));
  return [
    { type: "Ready", status: truth(ready), reason, message },
    { type: "Reconciling", status: truth(going), reason, message: numbers },
    { type: "Stalled", status: truth(stalled !== undefined), reason, message },
    warned(warnings),
    { type: "Available", status: truth(isAvailable(results)), reason, message: numbers },
  ];
}

/** The condition Warning: True while the spec contains something that the user might not intend. */
function warned(warnings: FoundClusters["warnings"]): Row {
  const [first] = warnings;
  const message = warnings.map((warning) => warning.message).join(" | ");
  return {
    type: "Warning",
    status: truth(warnings.length > 0),
    reason: first?.reason ?? "None",
    message,
  };
}

/**
 * True if at least `rollout.minAvailable` of the reachable clusters have the content, and more than
 * half of the selected ones.
 */
function isAvailable({ clusters, minAvailable = "90%" }: FoundClusters): boolean {
  const { selected, done, unreachable } = countsOf(clusters);
  const least =
    typeof minAvailable === "number"
      ? minAvailable
      : (Number.parseInt(minAvailable, 10) * (selected - unreachable)) / 100;
  return done >= least && 2 * done > selected;
}

/** Waits for a person. A cluster that only waits for its turn has no reason. */
const isHeld = ({ state, reason }: State): boolean => state === "Waiting" && reason !== undefined;

const isSlow = ({ state, reason = "" }: State): boolean =>
  state === "Progressing" && reason.startsWith(codeOf("slow"));

function reasonOf(
  { selected, done, failed, unreachable, leaving }: FleetCounts,
  slow: number,
  held: number,
): FleetReason {
  if (failed + held > 0) return "Refused";
  if (slow > 0 && done + unreachable + slow === selected && leaving === 0) return "Slow";
  if (done + unreachable < selected || leaving > 0) return "Progressing";
  if (unreachable > 0) return "Unreachable";
  return selected === 0 ? "NoClusters" : "Done";
}

export type Warning = Readonly<{ reason: FleetWarningReason; message: string }>;

export function warningsOf(spec: FleetSecretSpec): readonly Warning[] {
  const { clusterAPI, clusterProfiles, via } = spec;
  const isAll = ({ matchLabels = {}, matchExpressions = [] }: NamespaceSelector) =>
    Object.keys(matchLabels).length + matchExpressions.length === 0;
  const everyProfile = clusterProfiles !== undefined && isAll(clusterProfiles.selector);
  const every = clusterAPI !== undefined && isAll(clusterAPI.namespaceSelector);
  const delegated = via === "ClusterResourceSet";
  const all: readonly (Warning & Readonly<{ when: boolean }>)[] = [
    { when: every, reason: "EveryNamespace", message: sentence("everyNamespace") },
    { when: everyProfile, reason: "EveryProfile", message: sentence("everyProfile") },
    { when: delegated, reason: "ByClusterAPI", message: sentence("byClusterAPI") },
  ];
  return all.filter(({ when }) => when).map(({ reason, message }) => ({ reason, message }));
}

type Facts = Readonly<{
  source: Judged | undefined;
  /** Too many clusters refuse the content. */
  halted: boolean;
  /** Names of the clusters that refuse the content. */
  refusing: readonly string[];
  /** How many selected clusters we do not serve, because status has no room for them. */
  cut: number;
}>;

/** A message has at most 500 characters, so it names only a few clusters. */
const mostNamed = 5;

export function stalledBy({ source, halted, refusing, cut }: Facts): FoundClusters["stalled"] {
  if (source?.ok === false) return { reason: source.reason, message: source.message };
  if (halted) {
    const names = refusing.slice(0, mostNamed).join(", ");
    return { reason: "Halted", message: sentence("halted", names) };
  }
  if (cut > 0) return { reason: "TooManyClusters", message: sentence("tooMany", String(cut)) };
  return undefined;
}

/** Maximum number of failures in status. GlobalPullSecret has the same limit for nodes. */
const most = 10;

/** How many given-up clusters status lists, and for how many milliseconds at most. */
const mostGivenUp = 100;
const longestGivenUp = 30 * 24 * 3_600_000;

type State = FoundCluster;

/**
 * The most recent failures: clusters that failed, that we cannot reach, or that do not use the
 * content. Failed clusters come first, then the newest failures. While we try a cluster again, it
 * stays in the list. A repeated failure keeps its time, so a retry does not change status.
 */
export function failuresOf(
  clusters: readonly (State & Readonly<{ since?: string }>)[],
  former: readonly FleetFailure[] = [],
  now: string,
): readonly FleetFailure[] {
  const before = new Map(former.map((failure) => [failure.name, failure]));
  const failures = clusters.flatMap((cluster) => {
    const earlierFailure = before.get(cluster.name);
    // A failure that was not listed began with its state. With the present time it would come first
    // now, and another one in the next run.
    if (isTrouble(cluster))
      return [newer(failureOf(cluster, cluster.since ?? now), earlierFailure)];
    const over = cluster.state === "Done" || cluster.state === "Leaving";
    return earlierFailure === undefined || over ? [] : [earlierFailure];
  });
  // Unreachable clusters must not crowd out a failed cluster, which needs an administrator.
  const failed = new Set(
    clusters.flatMap((cluster) => (cluster.state === "Failed" ? cluster.name : [])),
  );
  const rank = ({ name }: FleetFailure) => (failed.has(name) ? 0 : 1);
  return failures.toSorted((a, b) => rank(a) - rank(b) || compare(b.since, a.since)).slice(0, most);
}

/** The clusters that this run or an earlier run gave up. Only status records them. */
function givenUpOf(
  clusters: readonly State[],
  fresh: readonly Pick<State, "name" | "reason">[],
  former: readonly FleetFailure[] = [],
  now: string,
): readonly FleetFailure[] {
  const here = new Set([...clusters, ...fresh].map(({ name }) => name));
  const remaining = former.filter(
    ({ name, since }) => !here.has(name) && Date.parse(now) - Date.parse(since) < longestGivenUp,
  );
  return [...fresh.map((cluster) => failureOf(cluster, now)), ...remaining].slice(0, mostGivenUp);
}

/** Whether to list the cluster as a failure. */
const isTrouble = (cluster: State): boolean =>
  cluster.state === "Failed" ||
  isSlow(cluster) ||
  isHeld(cluster) ||
  (cluster.state === "Unreachable" && cluster.reason !== undefined);

/** Splits the reason, which has the form `code: what; what to do`. */
function failureOf(
  { name, reason: whole = "" }: Pick<State, "name" | "reason">,
  since: string,
): FleetFailure {
  const [, reason = "Unknown", message = whole] = /^(GPS\d{3}): (.*)$/s.exec(whole) ?? [];
  return { name, reason, message, since };
}

const newer = (failure: FleetFailure, earlier: FleetFailure | undefined): FleetFailure =>
  earlier?.reason === failure.reason && earlier.message === failure.message ? earlier : failure;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

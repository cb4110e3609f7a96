/** Which clusters failed last, at the top of a status that may hold a thousand of them. Pure. */
import type { ClusterStatus, FleetFailure } from "#api/fleet-secret.ts";

/** Ten, as many failures as GlobalPullSecret tells of nodes. */
const most = 10;

/** So many clusters that were given up are kept, and for so long. */
const mostGivenUp = 100;
const longestGivenUp = 30 * 24 * 3_600_000;

type State = Omit<ClusterStatus, "since">;

/**
 * The clusters that went wrong last, failed ones first, the newest first: those that fail, that
 * cannot be reached, or that do not take the content up. One stays while it is tried again, and
 * goes when it has the content or is no longer selected. A failure that repeats itself keeps its
 * time, so that retries write no status.
 */
export function failuresOf(
  clusters: readonly State[],
  former: readonly FleetFailure[] = [],
  now: string,
): readonly FleetFailure[] {
  const before = new Map(former.map((one) => [one.name, one]));
  const failures = clusters.flatMap((one) => {
    const known = before.get(one.name);
    if (isTrouble(one)) return [newer(failureOf(one, now), known)];
    const over = one.state === "Done" || one.state === "Leaving";
    return known === undefined || over ? [] : [known];
  });
  // A cluster that is away must not hide one that needs a person.
  const failed = new Set(clusters.flatMap((one) => (one.state === "Failed" ? one.name : [])));
  const rank = ({ name }: FleetFailure) => (failed.has(name) ? 0 : 1);
  return failures.toSorted((a, b) => rank(a) - rank(b) || compare(b.since, a.since)).slice(0, most);
}

/**
 * The clusters that were given up, with those that are now. Status keeps them, because a process
 * that starts later knows of them from nowhere else.
 */
export function givenUpOf(
  clusters: readonly State[],
  fresh: readonly Omit<State, "state">[],
  former: readonly FleetFailure[] = [],
  now: string,
): readonly FleetFailure[] {
  const here = new Set([...clusters, ...fresh].map(({ name }) => name));
  const kept = former.filter(
    ({ name, since }) => !here.has(name) && Date.parse(now) - Date.parse(since) < longestGivenUp,
  );
  return [...fresh.map((one) => failureOf(one, now)), ...kept].slice(0, mostGivenUp);
}

/** A cluster that only waits for its turn has no reason. */
const isTrouble = ({ state, reason }: State): boolean =>
  state === "Failed" || (["Unreachable", "Waiting"].includes(state) && reason !== undefined);

/** The state's reason is `code: what; what to do`. */
function failureOf(
  { name, reason: whole = "" }: Omit<State, "state">,
  since: string,
): FleetFailure {
  const [, reason = "Unknown", message = whole] = /^(GPS\d{3}): (.*)$/s.exec(whole) ?? [];
  return { name, reason, message, since };
}

const newer = (one: FleetFailure, known: FleetFailure | undefined): FleetFailure =>
  known?.reason === one.reason && known.message === one.message ? known : one;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Which clusters failed last, at the top of a status that may hold a thousand of them. Pure. */
import type { ClusterStatus, FleetFailure } from "#api/fleet-secret.ts";

/** Ten, as many failures as GlobalPullSecret tells of nodes. */
const most = 10;

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

/** A cluster that only waits for its turn has no reason. */
const isTrouble = ({ state, reason }: State): boolean =>
  state === "Failed" || (["Unreachable", "Waiting"].includes(state) && reason !== undefined);

/** The state's reason is `code: what; what to do`. */
function failureOf({ name, reason: whole = "" }: State, since: string): FleetFailure {
  const [, reason = "Unknown", message = whole] = /^(GPS\d{3}): (.*)$/s.exec(whole) ?? [];
  return { name, reason, message, since };
}

const newer = (one: FleetFailure, known: FleetFailure | undefined): FleetFailure =>
  known?.reason === one.reason && known.message === one.message ? known : one;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

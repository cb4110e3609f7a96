/** What a FleetSecret says of itself. Pure. */
import type { ClusterStatus, FleetCondition, FleetSecretStatus } from "#api/fleet-secret.ts";

/** What one run found. */
export type Found = Readonly<{
  generation: number;
  now: Date;
  clusters: readonly Omit<ClusterStatus, "since">[];
  /** Why nothing can go on as declared; undefined: it can. */
  stalled: Readonly<{ reason: string; message: string }> | undefined;
  paused: boolean;
}>;

/** Status after a run; what has not changed since `former` keeps its time. */
export function statusOf(found: Found, former: FleetSecretStatus = {}): FleetSecretStatus {
  const { generation, clusters } = found;
  const now = found.now.toISOString().replace(/\.\d+Z$/, "Z");
  const before = new Map((former.clusters ?? []).map((one) => [one.name, one]));
  const timed = (one: Omit<ClusterStatus, "since">): ClusterStatus => {
    const known = before.get(one.name);
    return { ...one, since: known?.state === one.state ? known.since : now };
  };
  const conditioned = (one: Condition): FleetCondition => {
    const known = former.conditions?.find(({ type }) => type === one.type);
    const lastTransitionTime = known?.status === one.status ? known.lastTransitionTime : now;
    return { ...one, observedGeneration: generation, lastTransitionTime };
  };
  const served = clusters.filter(({ state }) => state !== "Leaving");
  const done = served.filter(({ state }) => state === "Done").length;
  return {
    observedGeneration: generation,
    summary: `${done}/${served.length}`,
    clusters: clusters.map(timed),
    conditions: conditionsOf(found).map(conditioned),
  };
}

type Condition = Pick<FleetCondition, "type" | "status" | "reason"> & Readonly<{ message: string }>;

/** Ready, Reconciling and Stalled, by the rules of kstatus: at most one of them is True. */
function conditionsOf({ clusters, stalled, paused }: Found): readonly Condition[] {
  const count = (...states: readonly ClusterStatus["state"][]) =>
    clusters.filter(({ state }) => states.includes(state)).length;
  const [done, failed, away] = [count("Done"), count("Failed"), count("Unreachable")];
  const [waiting, leaving] = [count("Waiting"), count("Leaving")];
  const numbers = [
    `${done} of ${clusters.length - leaving} clusters have it`,
    ...(waiting > 0 ? [`${waiting} wait`] : []),
    ...(failed > 0 ? [`${failed} refuse it`] : []),
    ...(away > 0 ? [`${away} cannot be reached`] : []),
    ...(leaving > 0 ? [`${leaving} are leaving`] : []),
  ].join(", ");
  const moving = waiting + leaving > 0;
  const ready = stalled === undefined && !paused && !moving && failed === 0;
  const reason = stalled?.reason ?? (paused ? "Paused" : failed > 0 ? "Refused" : reasonOf(moving));
  const message = stalled?.message ?? numbers;
  const going = stalled === undefined && !paused && moving;
  return [
    { type: "Ready", status: ready ? "True" : "False", reason, message },
    { type: "Reconciling", status: going ? "True" : "False", reason, message: numbers },
    { type: "Stalled", status: stalled === undefined ? "False" : "True", reason, message },
  ];
}

const reasonOf = (moving: boolean): string => (moving ? "Progressing" : "Done");

/** Whether two say the same, in whatever order: an apply may change that of a list. */
export function sameStatus(one: FleetSecretStatus, other: FleetSecretStatus | undefined): boolean {
  return sorted(one) === sorted(other);
}

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => {
    if (typeof one !== "object" || one === null) return one;
    if (Array.isArray(one)) return one.map(sorted).toSorted();
    return Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }) ?? "";

/**
 * The DaemonSet controller (kubernetes/pkg/controller/daemon, maxSurge 0), for APIs that have none:
 * which pods are to be made and deleted, and what the DaemonSet's status counts.
 */

/** A pod as the controller sees it. `ready`: since when it is; undefined while it is not. */
export type DaemonPod = Readonly<{
  node: string;
  hash: string;
  ending: boolean;
  ready: number | undefined;
}>;

export type DaemonRules = Readonly<{
  /** Of the template in force. */
  hash: string;
  strategy: "RollingUpdate" | "OnDelete";
  maxUnavailable: number | string;
  minReadySeconds: number;
}>;

/**
 * One sync at `now`: first a pod for each node that has none, then the update. `pods`: the oldest
 * first.
 */
export function syncDaemonSet<P extends DaemonPod>(
  rules: DaemonRules,
  nodes: readonly string[],
  pods: readonly P[],
  now: number,
): { create: string[]; remove: P[] } {
  const on = Map.groupBy(pods, ({ node }) => node);
  const create = nodes.filter((node) => !on.has(node));
  if (rules.strategy === "OnDelete") return { create, remove: [] };
  let unavailable = 0;
  const [broken, candidates]: [P[], P[]] = [[], []];
  for (const node of nodes) {
    const pod = on.get(node)?.find(({ ending }) => !ending);
    const isThere = pod !== undefined && isAvailable(rules, pod, now);
    if (!isThere) unavailable += 1;
    if (pod === undefined || pod.hash === rules.hash) continue;
    (isThere ? candidates : broken).push(pod);
  }
  const most = unavailableOf(rules.maxUnavailable, nodes.length);
  const chosen = candidates.slice(0, Math.max(0, most - unavailable));
  return { create, remove: [...broken, ...chosen] };
}

/** What the status counts: of each node its oldest pod. */
export function countDaemonSet(
  rules: DaemonRules,
  nodes: readonly string[],
  pods: readonly DaemonPod[],
  now: number,
): { desired: number; updated: number; ready: number; available: number } {
  const on = Map.groupBy(pods, ({ node }) => node);
  const oldest = nodes.flatMap((node) => on.get(node)?.slice(0, 1) ?? []);
  return {
    desired: nodes.length,
    updated: oldest.filter(({ hash }) => hash === rules.hash).length,
    ready: oldest.filter(({ ready }) => ready !== undefined).length,
    available: oldest.filter((pod) => isAvailable(rules, pod, now)).length,
  };
}

const isAvailable = (rules: DaemonRules, { ready }: DaemonPod, now: number) =>
  ready !== undefined && now - ready >= rules.minReadySeconds;

/**
 * How many agents may be unavailable, by the controller's own reckoning (updatedDesiredNodeCounts):
 * a percentage is rounded up, and of none it makes one.
 */
export function unavailableOf(most: number | string, nodes: number): number {
  const scaled =
    typeof most === "number" ? most : Math.ceil((Number(most.replace("%", "")) * nodes) / 100);
  return nodes > 0 && scaled === 0 ? 1 : scaled;
}

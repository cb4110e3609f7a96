/** The clusters of one FleetSecret, each with its connection and its rollout state. */
import type { ClusterStatus, FleetSecret } from "#api/fleet-secret.ts";
import { Allowance } from "#kube/allowance.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { type Wanted, FleetCluster } from "./cluster.ts";
import { readAccess } from "./inventory/inventory.ts";
import {
  rememberedState,
  removalStateOf,
  rolloutStateOf,
  type ClusterFacts,
  type Judgement,
  type Removal,
} from "./rules/cluster-state.ts";
import type { Judged } from "./rules/content.ts";
import { codeOf } from "./rules/problems.ts";
import { direct } from "./transport/direct.ts";
import { resourceSet } from "./transport/resource-set.ts";
import type { Transport } from "./transport/transport.ts";

type Options = Readonly<{ home: Cluster; holds: () => boolean; hint: () => void }>;

/** The facts of one run, from which we derive each cluster's state. */
export type Run = Readonly<{
  object: FleetSecret;
  /** Undefined if the object is deleted, because it then needs no source. */
  source: Judged | undefined;
  owner: string;
  now: number;
}>;

export class FleetClusters {
  readonly #options: Options;
  readonly #all = new Map<string, FleetCluster>();
  /** JSON of the fields of the spec from which we made the present transports. */
  #made = "";

  constructor(options: Options) {
    this.#options = options;
  }

  get(name: string): FleetCluster | undefined {
    return this.#all.get(name);
  }

  /** Connects to these clusters, and closes the connections to all others. */
  keep(
    served: readonly string[],
    leaving: readonly string[] = [],
    spec?: FleetSecret["spec"],
    holderOf: (name: string, mark: string | undefined) => string | undefined = () => "",
  ): void {
    const { home, holds, hint } = this.#options;
    const { via, target, clusterAPI } = spec ?? {};
    const { clusterNameLabelValue, clusterSelector } = clusterAPI ?? {};
    // A ClusterResourceSet contains these selectors. If a user edits a selector, we make all
    // transports again.
    const transportKey = JSON.stringify([via, target, clusterNameLabelValue, clusterSelector]);
    if (spec !== undefined && transportKey !== this.#made) {
      if (via === "ClusterResourceSet") this.keep([]);
      this.#made = transportKey;
    }
    const names = new Set([...served, ...leaving]);
    for (const [name, cluster] of this.#all) {
      if (names.has(name)) continue;
      cluster.close();
      this.#all.delete(name);
    }
    for (const name of names) {
      if (spec === undefined || this.#all.has(name)) continue;
      // We place a ClusterResourceSet beside the Cluster, in the management cluster.
      const beside = spec.via === "ClusterResourceSet";
      const reach = beside ? home : async () => await readAccess(home, name);
      const transport = transportOf(spec, name);
      const limited = limitedHint(hint);
      this.#all.set(name, new FleetCluster({ transport, reach, holds, hint: limited }));
    }
    const going = new Set(leaving);
    for (const [name, cluster] of this.#all) {
      cluster.leaving = going.has(name);
      cluster.holderOf = (mark) => holderOf(name, mark);
    }
  }

  judge(name: string, run: Run): Judgement {
    const judged = this.#judge(name, run);
    const warning = this.#all.get(name)?.warning();
    return judged.reason !== undefined || warning === undefined
      ? judged
      : { ...judged, reason: warning };
  }

  #judge(name: string, run: Run): Judgement {
    const { object, source, owner, now } = run;
    const cluster = this.#all.get(name);
    const content = source?.ok ? source.content : undefined;
    const observed = cluster?.compare(content, owner) ?? { is: "unknown" as const };
    const lastStatus = object.status?.clusters?.find((entry) => entry.name === name);
    const former = formerOf(run, lastStatus);
    // Until a cluster has answered, its last status counts, because otherwise a restart of this
    // process would end a halt. A status about other content says nothing about this content.
    const times = { former, now };
    const isAbout = former !== undefined || content === undefined;
    if (observed.is === "unknown" && lastStatus !== undefined && isAbout) {
      const rolloutState = rememberedState(times, ofContent.has(codeIn(lastStatus.reason)));
      return { rolloutState, ...statusFields(lastStatus) };
    }
    if (observed.is === "other" && content === undefined)
      return observed.present && lastStatus?.state === "Done"
        ? { rolloutState: "done", ...statusFields(lastStatus) }
        : { rolloutState: "done", state: "Waiting" };
    return rolloutStateOf({
      ...times,
      observed,
      busy: cluster?.busy === true,
      refusal: content && (refusalAt(cluster, content, now) ?? remembered(former)),
    });
  }

  /** Why this owner's Secret is still in a cluster from which we are removing it. */
  leaving(name: string, { owner, now }: Run, successor?: string): Removal {
    const cluster = this.#all.get(name);
    return removalStateOf({
      observed: cluster?.compare(undefined, owner) ?? { is: "unknown" },
      busy: cluster?.busy === true,
      refusal: refusalAt(cluster, undefined, now),
      successor,
    });
  }

  /** The times, in milliseconds, at which to check a cluster again even if nothing happens. */
  again(name: string, now: number): readonly number[] {
    return (
      this.#all
        .get(name)
        ?.again()
        .map((wait) => now + wait) ?? []
    );
  }
}

/**
 * How often changes in one cluster run the whole fleet: twenty times at once, as in its own
 * rollout, and then every five seconds. The last change is never lost.
 */
const hints = { perSecond: 0.2, atOnce: 20 };

export function limitedHint(hint: () => void): () => void {
  const allowance = new Allowance(hints);
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    const now = performance.now();
    const wait = allowance.when(1, now) - now;
    allowance.take(1, now);
    if (wait <= 0) return hint();
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      hint();
    }, wait).unref();
  };
}

function refusalAt(
  cluster: FleetCluster | undefined,
  of: Wanted,
  now: number,
): ClusterFacts["refusal"] {
  const refusal = cluster?.refusal(of);
  return refusal && { why: refusal.why, own: refusal.own, next: now + refusal.wait };
}

function transportOf({ via, target, clusterAPI }: FleetSecret["spec"], name: string): Transport {
  const { namespace = "kube-system" } = target;
  const where = { namespace, name: target.name };
  return via === "ClusterResourceSet" ? resourceSet(name, where, clusterAPI) : direct(where);
}

/**
 * The cluster's last status, if it is about this content. The source's resourceVersion identifies
 * the content.
 */
function formerOf(
  { object, source }: Run,
  lastStatus: ClusterStatus | undefined,
): ClusterFacts["former"] {
  const of = object.status?.sourceResourceVersion;
  if (lastStatus === undefined || !source?.ok || of !== source.version) return undefined;
  const { since, startedAt } = lastStatus;
  return {
    ...statusFields(lastStatus),
    since: Date.parse(since),
    startedAt: startedAt === undefined ? undefined : Date.parse(startedAt),
  };
}

const statusFields = ({ state, reason }: ClusterStatus) => ({
  state,
  ...(reason === undefined ? {} : { reason }),
});

const ofContent: ReadonlySet<string> = new Set([codeOf("rejected"), codeOf("refusedThere")]);

const refusals: ReadonlySet<string> = new Set([
  codeOf("refused"),
  codeOf("mutated"),
  codeOf("rejected"),
]);

const codeIn = (reason = ""): string => reason.slice(0, codeOf("refused").length);

/**
 * The refusal that the previous controller recorded in status. We use it until we try the content
 * again. The first try is allowed at once.
 */
function remembered(former: ClusterFacts["former"]): ClusterFacts["refusal"] {
  const code = codeIn(former?.reason);
  if (former?.state !== "Failed" || !refusals.has(code)) return undefined;
  return { why: former.reason ?? "", own: code !== codeOf("rejected"), next: former.since };
}

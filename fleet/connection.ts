/**
 * The connection to one cluster. The connection opens, follows objects and reopens by itself, so a
 * cluster that is down does not delay the others.
 */
import { isDeepStrictEqual } from "node:util";
import { ApiError } from "#kube/client/api-error.ts";
import { cached } from "#kube/watch/cached-client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { backoff } from "#kube/client/retry.ts";
import { createLoop, type Again } from "#kube/loop.ts";
import { follow, type WatchTarget } from "#kube/watch/watch.ts";
import { certificatesIn, type Access } from "#kube/kubeconfig/access.ts";
import type { AccessReading } from "./inventory/access.ts";
import type { Seen } from "./transport/transport.ts";
import { sentence } from "./rules/problems.ts";
import { connect } from "#kube/client/client.ts";
import { kubeConfigOf } from "#kube/remote.ts";

/**
 * Milliseconds for which a warning about too much data stays. The watch never pauses for longer
 * than this.
 */
const excessMilliseconds = 60_000;

/** Longest pause, in milliseconds, between two tries to reach a cluster. */
const longestPause = 30_000;

type Options = Readonly<{
  /**
   * Finds out how to reach the cluster; called before each connection and every five minutes. For
   * the management cluster: its client.
   */
  reach: (() => Promise<AccessReading>) | Cluster;
  /** Objects that must be readable. */
  needed: readonly WatchTarget[];
  /** Optional objects: if one cannot be read, the cluster does not count as unreachable. */
  besides: readonly WatchTarget[];
  hint: () => void;
  connect?: (access: Access) => Cluster;
}>;

type FollowedObject = {
  target: WatchTarget;
  needed: boolean;
  informer: Informer;
  seen: Seen;
  /** Why the object cannot be followed now. */
  problem: string | undefined;
  /** Whether the result of a write was unknown when the object was last looked at. */
  doubted: boolean;
  /** Whether `problem` or `doubted` has changed since the last hint. */
  news: boolean;
};
type Open = Readonly<{
  made: string;
  authority: string | undefined;
  cluster: Cluster;
  all: readonly FollowedObject[];
}>;

/**
 * The known state: nothing yet, the reason why the cluster is unreachable, or the objects that were
 * read, with the required objects first.
 */
export type KnownObjects = "unknown" | Readonly<{ away: string }> | readonly Seen[];

export class Connection {
  /**
   * While the Secret is being removed, deleting the kubeconfig does not close an open connection.
   */
  leaving = false;
  readonly #options: Options;
  readonly #stop = new AbortController();
  readonly #loop = createLoop({
    run: () => this.#observe(),
    failed: (error) => this.#connectFailed(error),
  });
  #open: Open | undefined;
  #following = new AbortController();
  /** Why there is no connection. */
  #closedBecause: string | undefined;
  #failures = 0;
  #renew = false;
  /** When to read the kubeconfig again. */
  #stale = Number.POSITIVE_INFINITY;
  #exceeded = Number.NEGATIVE_INFINITY;

  constructor(options: Options) {
    this.#options = options;
    void this.#loop.until(this.#stop.signal);
  }

  close(): void {
    this.#stop.abort();
    this.#following.abort();
  }

  get found(): KnownObjects {
    const away = this.#awayBecause;
    if (away !== undefined) return { away };
    const all = this.#open?.all ?? [];
    if (all.length === 0 || all.some(({ seen }) => seen.is === "unknown")) return "unknown";
    return all.map(({ seen }) => seen);
  }

  get #awayBecause(): string | undefined {
    return this.#closedBecause ?? this.#open?.all.find((one) => one.needed && one.problem)?.problem;
  }

  get cluster(): Cluster | undefined {
    return this.#open?.cluster;
  }

  /** Certificates of the connection's authority. The management cluster has none. */
  get authority(): string | undefined {
    return this.#open?.authority;
  }

  /**
   * True while the result of a write is unknown. We then read the object again. If there is no
   * watch, the list that begins the next watch shows the result. Until we have the result, we send
   * no second write.
   */
  get doubted(): boolean {
    return this.#open?.all.some(({ informer }) => informer.doubted) === true;
  }

  /** Remaining milliseconds of the warning about too much data, if there is one. */
  get excess(): number | undefined {
    const wait = this.#exceeded + excessMilliseconds - performance.now();
    return wait > 0 ? wait : undefined;
  }

  /**
   * To be called after a write. Reads the result again if the answer did not show it. If there was
   * no answer, it also reads the kubeconfig again, because a watch outlives the token that opened
   * it.
   */
  observeWrite(answered: boolean): void {
    this.#renew ||= !answered;
    // The answer is known at once. Its watch event may come later or never.
    for (const one of this.#open?.all ?? []) this.#show(one, one.problem);
    this.#loop.hint();
  }

  async #observe(): Promise<Again | undefined> {
    const renew = this.#renew || performance.now() >= this.#stale;
    if (this.#open === undefined || this.#awayBecause !== undefined || renew) {
      this.#renew = false;
      await this.#connect();
    }
    if (this.#open === undefined) return this.#later();
    for (const one of this.#open.all) {
      if (one.informer.shown !== "list") continue;
      try {
        await this.#open.cluster.get(`${one.target.collection}/${one.target.name}`);
      } catch (error) {
        this.#renew = true;
        this.#failed(one, error);
        return this.#later();
      }
      this.#show(one, undefined);
    }
    if (this.#awayBecause !== undefined) return this.#later();
    const rest = this.#stale - performance.now();
    return Number.isFinite(rest) ? { seconds: rest / 1000 } : undefined;
  }

  #later(): Again {
    this.#failures += 1;
    return { seconds: Math.min(backoff(this.#failures), longestPause) / 1000 };
  }

  /**
   * The management cluster did not return the kubeconfig. If the right to read it was removed, this
   * counts like a deleted kubeconfig.
   */
  #connectFailed(error: unknown): undefined {
    const revoked = error instanceof ApiError && error.status === 403;
    if (this.#open === undefined || revoked) this.#close(unreachableBecause(error));
  }

  /** The kubeconfig may have been renewed, or may now name another cluster. */
  async #connect(): Promise<void> {
    const { reach, connect = connectTo } = this.#options;
    if (typeof reach !== "function") {
      if (this.#open === undefined) this.#begin({ made: "", authority: undefined }, reach);
      return;
    }
    const read = await reach();
    if (this.#stop.signal.aborted) return;
    this.#stale = staleAt(performance.now());
    if (this.leaving && this.#open !== undefined && !read.ok && read.absent === true) return;
    if (!read.ok) return this.#close(read.why);
    const { made, access } = read;
    if (this.#open?.made === made) return;
    // Clusters behind a public authority are distinguished by their addresses.
    const { authority: signer, server } = access;
    const authority = signer === undefined ? server : certificatesIn(signer);
    this.#begin({ made, authority }, connect(access));
  }

  #close(why: string): void {
    const before = this.#closedBecause;
    this.#following.abort();
    this.#open = undefined;
    this.#closedBecause = why;
    if (before !== why) this.#options.hint();
  }

  #begin(how: Pick<Open, "made" | "authority">, live: Cluster): void {
    const { needed, besides } = this.#options;
    const followed = (target: WatchTarget, isNeeded: boolean): FollowedObject => {
      const seen: Seen = { is: "unknown" };
      const state = { seen, problem: undefined, doubted: false, news: false };
      return { target, needed: isNeeded, informer: new Informer(), ...state };
    };
    const all = [
      ...needed.map((one) => followed(one, true)),
      ...besides.map((one) => followed(one, false)),
    ];
    this.#following.abort();
    this.#following = new AbortController();
    this.#closedBecause = undefined;
    this.#open = { ...how, cluster: cached(live, all), all };
    for (const one of all) this.#follow(one, live);
  }

  #follow(one: FollowedObject, cluster: Cluster): void {
    const { signal } = this.#following;
    void follow({
      cluster,
      target: one.target,
      informer: one.informer,
      longestPause,
      bounds,
      signal,
      exceeded: () => {
        const known = this.excess;
        this.#exceeded = performance.now();
        if (known === undefined) this.#options.hint();
      },
      hint: () => {
        if (signal.aborted) return;
        this.#show(one, undefined);
        if (this.#awayBecause === undefined) this.#failures = 0;
      },
      failed: (error) => {
        if (!signal.aborted) this.#failed(one, error);
      },
    });
  }

  /**
   * A watch that ended normally restarts at once. Until the restart, we keep its last objects. A
   * restarted watch shows the same object again. That is not a hint: with a thousand clusters four
   * watches restart each second, and each hint runs the whole fleet.
   */
  #show(one: FollowedObject, problem: string | undefined): void {
    const { shown, doubted } = one.informer;
    if (problem !== one.problem || doubted !== one.doubted) one.news = true;
    Object.assign(one, { problem, doubted });
    // The watch may not have shown our own write yet.
    if (shown === "list") this.#loop.hint();
    if (typeof shown === "string") return;
    const seen: Seen = { is: "shown", object: shown.object };
    if (!one.news && isDeepStrictEqual(seen, one.seen)) return;
    Object.assign(one, { seen, news: false });
    this.#options.hint();
  }

  /** Handles the end of a watch. If the object is optional, only a refusal counts. */
  #failed(one: FollowedObject, error: unknown): void {
    if (!one.needed) {
      const { seen } = one;
      one.seen = unseen(seen, error);
      if (JSON.stringify(seen) !== JSON.stringify(one.seen)) this.#options.hint();
      return;
    }
    const known = this.#awayBecause;
    one.problem = unreachableBecause(error);
    if (known === one.problem) return;
    this.#options.hint();
    // A cluster that is already unreachable is retried after its own pause.
    if (known === undefined) this.#loop.hint();
  }
}

/**
 * Status and reason of the cluster's answer. Nothing else is quoted, because it could be anything.
 */
export const answerOf = (error: unknown): string =>
  error instanceof ApiError ? error.bare : "its answer is not that of an API server";

/** Why a cluster cannot be reached. If the account is refused, an administrator must act. */
export const unreachableBecause = (error: unknown): string => {
  const denied = error instanceof ApiError && [401, 403].includes(error.status);
  return sentence(denied ? "denied" : "unreachable", answerOf(error));
};

/**
 * The known state of an optional object when a read of it has failed. Its last content is kept,
 * unless the object does not exist or may not be read.
 */
function unseen(seen: Seen, error: unknown): Seen {
  const { status, reason } = error instanceof ApiError ? error : { status: 0, reason: "Unknown" };
  const why = `${status || "no answer"} ${reason}`;
  const gone = status === 403 || status === 404 || seen.is !== "shown";
  return gone ? { is: "refused", status, why } : { ...seen, failing: why };
}

/** Seconds to wait for an answer. A slower cluster counts as unreachable. */
const answerSeconds = 10;

/**
 * Largest answer, and largest line of a watch, in bytes. etcd accepts objects of 1.5 MiB, and
 * base64 adds a third.
 */
const largestAnswer = 2 * 1024 * 1024;

/**
 * Most values of such an answer. They take at most 11 MiB when parsed. A Secret with 10,000 keys
 * (excerpt.ts) has 60,000 values if two managers own them and kubectl keeps a copy.
 */
const mostValues = 100_000;

/**
 * How much the watch of one object may send. The status of a GlobalPullSecret changes once a second
 * while its nodes change, with 100 KiB for hundreds of nodes. A Secret rarely changes. At most the
 * data of 10 s, or two of the largest objects, may arrive at once. Reading a MiB takes at most 80
 * ms of processor time, so a cluster that sends the maximum uses 2 % of a processor.
 */
const bounds = {
  events: { perSecond: 2, atOnce: 20 },
  bytes: { perSecond: 256 * 1024, atOnce: 2 * largestAnswer },
};

const connectTo = (access: Access): Cluster =>
  connect(kubeConfigOf(access), () => {}, {
    manager: fleetManager,
    seconds: answerSeconds,
    largest: largestAnswer,
    mostValues,
    fixed: true,
  });

/**
 * Milliseconds between two reads of a kubeconfig whose connection works, plus or minus 20 %. A
 * kubeconfig stays in use for at most this long after someone replaced or deleted it, or removed
 * the right to read it. We do not watch kubeconfigs, because a watch would need the right to list
 * Secrets. A thousand clusters cause three reads a second.
 */
const readMilliseconds = 300_000;

/** When to read again a kubeconfig that was read at `now`. */
const staleAt = (now: number): number => now + readMilliseconds * (0.8 + 0.4 * Math.random());

export const fleetManager = "global-pull-secret-fleet";

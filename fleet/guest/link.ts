/**
 * The connection to one cluster. It opens, follows and reopens by itself, so that a cluster that is
 * down delays no other.
 */
import { ApiError } from "#kube/client/api-error.ts";
import { cached } from "#kube/watch/cached-client.ts";
import { connect } from "#kube/client/client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { backoff, createLoop, type Again } from "#kube/loop.ts";
import { kubeConfigOf } from "#kube/remote.ts";
import { follow, type WatchTarget } from "#kube/watch/watch.ts";
import type { AccessReading } from "../inventory/access.ts";
import { sentence } from "../secret/problems.ts";
import type { Seen } from "../way/way.ts";
import { fleetManager } from "./manager.ts";

/** Seconds that a guest may take for an answer. One that takes longer counts as away. */
const answerSeconds = 10;

/**
 * Most bytes of an answer, and of a line of a watch. etcd takes objects of 1.5 MiB, and base64
 * makes a third more of them: no list of one object is longer.
 */
const largestAnswer = 2 * 1024 * 1024;

/**
 * What the watch of one object may send. A GlobalPullSecret's status has one event a second while
 * its nodes change, of 100 KiB where there are hundreds; a Secret has next to none. At once comes
 * what was saved up in 10 s, or two objects as large as may be. To read a MiB of the worst costs
 * 80 ms of a processor, so that a cluster which sends all that it may costs a fiftieth of one.
 */
const bounds = {
  events: { perSecond: 2, atOnce: 20 },
  bytes: { perSecond: 256 * 1024, atOnce: 2 * largestAnswer },
};

/** Milliseconds for which a cluster that sent more than that is said to. Pauses are no longer. */
const excessMilliseconds = 60_000;

/** Most milliseconds between two tries to reach a guest that is away. */
const longestPause = 30_000;

type Options = Readonly<{
  /** Called at each opening; or the cluster itself, where that is the management cluster. */
  reach: (() => Promise<AccessReading>) | Cluster;
  /** Objects without which nothing can be done. */
  needed: readonly WatchTarget[];
  /** Objects whose reading may be refused. */
  besides: readonly WatchTarget[];
  hint: () => void;
}>;

type FollowedGuest = {
  target: WatchTarget;
  needed: boolean;
  informer: Informer;
  seen: Seen;
  /** Why the object cannot be followed now. */
  problem: string | undefined;
};
type Open = Readonly<{ made: string; cluster: Cluster; all: readonly FollowedGuest[] }>;

/**
 * What is known: nothing yet, why the guest is away, or what was shown of each object, the needed
 * ones first.
 */
export type KnownObjects = "unknown" | Readonly<{ away: string }> | readonly Seen[];

export class Link {
  readonly #options: Options;
  readonly #stop = new AbortController();
  readonly #loop = createLoop({ run: () => this.#look(), failed: (error) => this.#fell(error) });
  #open: Open | undefined;
  #following = new AbortController();
  /** Why there is no connection. */
  #shut: string | undefined;
  #failures = 0;
  #renew = false;
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
    const away = this.#away;
    if (away !== undefined) return { away };
    const all = this.#open?.all ?? [];
    if (all.length === 0 || all.some(({ seen }) => seen.is === "unknown")) return "unknown";
    return all.map(({ seen }) => seen);
  }

  get #away(): string | undefined {
    return this.#shut ?? this.#open?.all.find((one) => one.needed && one.problem)?.problem;
  }

  /** The open connection; undefined while there is none. */
  get cluster(): Cluster | undefined {
    return this.#open?.cluster;
  }

  /**
   * True while nothing has shown what a write left. It is asked for; where there is no watch, the
   * list that begins the next one tells, in its own time. Until then a second write would be blind.
   */
  get doubted(): boolean {
    return this.#open?.all.some(({ informer }) => informer.doubted) === true;
  }

  /** Until when the cluster counts as one that sends too much; undefined where it does not. */
  excess(now: number): number | undefined {
    const until = this.#exceeded + excessMilliseconds;
    return now < until ? until : undefined;
  }

  /**
   * To be called after a write. What it left is asked for where its answer did not tell. Without an
   * answer, the kubeconfig is read again too, because a watch outlives the token that opened it.
   */
  look(answered: boolean): void {
    this.#renew ||= !answered;
    // The answer is known at once. Its event comes later, if ever.
    for (const one of this.#open?.all ?? []) this.#show(one);
    this.#loop.hint();
  }

  async #look(): Promise<Again | undefined> {
    if (this.#open === undefined || this.#away !== undefined || this.#renew) {
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
      one.problem = undefined;
      this.#show(one);
    }
    return this.#away === undefined ? undefined : this.#later();
  }

  #later(): Again {
    this.#failures += 1;
    return { seconds: Math.min(backoff(this.#failures), longestPause) / 1000 };
  }

  /** The management cluster could not tell how this cluster is reached. */
  #fell(error: unknown): undefined {
    if (this.#open === undefined) this.#close(away(error));
  }

  /** The kubeconfig is read at each opening: it may have been renewed, or name another cluster. */
  async #connect(): Promise<void> {
    const { reach } = this.#options;
    if (typeof reach !== "function") {
      if (this.#open === undefined) this.#begin("", reach);
      return;
    }
    const read = await reach();
    if (this.#stop.signal.aborted) return;
    if (!read.ok) this.#close(read.why);
    else if (this.#open?.made !== read.made) {
      const how = {
        manager: fleetManager,
        seconds: answerSeconds,
        largest: largestAnswer,
        fixed: true,
      };
      this.#begin(
        read.made,
        connect(kubeConfigOf(read.access), () => {}, how),
      );
    }
  }

  #close(why: string): void {
    const before = this.#shut;
    this.#following.abort();
    this.#open = undefined;
    this.#shut = why;
    if (before !== why) this.#options.hint();
  }

  #begin(made: string, live: Cluster): void {
    const { needed, besides } = this.#options;
    const followed = (target: WatchTarget, isNeeded: boolean): FollowedGuest => {
      const seen: Seen = { is: "unknown" };
      return { target, needed: isNeeded, informer: new Informer(), seen, problem: undefined };
    };
    const all = [
      ...needed.map((one) => followed(one, true)),
      ...besides.map((one) => followed(one, false)),
    ];
    this.#following.abort();
    this.#following = new AbortController();
    this.#shut = undefined;
    this.#open = { made, cluster: cached(live, all), all };
    for (const one of all) this.#follow(one, live);
  }

  #follow(one: FollowedGuest, cluster: Cluster): void {
    const { signal } = this.#following;
    void follow({
      cluster,
      target: one.target,
      informer: one.informer,
      longestPause,
      bounds,
      signal,
      exceeded: () => {
        const known = this.excess(Date.now());
        this.#exceeded = Date.now();
        if (known === undefined) this.#options.hint();
      },
      hint: () => {
        if (signal.aborted) return;
        one.problem = undefined;
        if (this.#away === undefined) this.#failures = 0;
        this.#show(one);
      },
      failed: (error) => {
        if (!signal.aborted) this.#failed(one, error);
      },
    });
  }

  /**
   * A watch that ended in its time begins again at once. Until then what it showed last is kept.
   */
  #show(one: FollowedGuest): void {
    const { shown } = one.informer;
    // The watch may not have shown our own write yet.
    if (shown === "list") this.#loop.hint();
    if (typeof shown === "string") return;
    one.seen = { is: "shown", object: shown.object };
    this.#options.hint();
  }

  /** Takes the end of a watch. An object that is not needed counts only when it is refused. */
  #failed(one: FollowedGuest, error: unknown): void {
    if (!one.needed) return this.#unseen(one, error);
    const known = this.#away;
    one.problem = away(error);
    if (known === one.problem) return;
    this.#options.hint();
    // A guest that was away already is tried again in its own time.
    if (known === undefined) this.#loop.hint();
  }

  /** What such an object showed last is kept, unless it is not there or may not be read. */
  #unseen(one: FollowedGuest, error: unknown): void {
    const { seen } = one;
    const { status, reason } = error instanceof ApiError ? error : { status: 0, reason: "Unknown" };
    const why = `${status || "no answer"} ${reason}`;
    const gone = status === 403 || status === 404 || seen.is !== "shown";
    one.seen = gone ? { is: "refused", status, why } : { ...seen, failing: why };
    if (JSON.stringify(seen) !== JSON.stringify(one.seen)) this.#options.hint();
  }
}

const away = (error: unknown): string => sentence("unreachable", told(error));

/** Status and reason of the guest's answer, and nothing else, because the rest may be anything. */
export const told = (error: unknown): string =>
  error instanceof ApiError ? error.message : "its answer is not an API server's";

/**
 * The connection to one cluster. It opens, follows and reopens by itself, so that a cluster that is
 * down delays no other.
 */
import { ApiError } from "#kube/client/api-error.ts";
import { cached } from "#kube/watch/cached-client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { backoff } from "#kube/client/retry.ts";
import { createLoop, type Again } from "#kube/loop.ts";
import { follow, type WatchTarget } from "#kube/watch/watch.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import type { AccessReading } from "./inventory/access.ts";
import type { Seen } from "./transport/transport.ts";
import { sentence } from "./rules/problems.ts";
import { connect } from "#kube/client/client.ts";
import { kubeConfigOf } from "#kube/remote.ts";

/** Milliseconds for which a cluster that sent more than it may is said to. Pauses are no longer. */
const excessMilliseconds = 60_000;

/** Most milliseconds between two tries to reach a guest that is away. */
const longestPause = 30_000;

type Options = Readonly<{
  /**
   * Called at each opening, and every five minutes; or the cluster itself, where that is the
   * management cluster.
   */
  reach: (() => Promise<AccessReading>) | Cluster;
  /** Objects without which nothing can be done. */
  needed: readonly WatchTarget[];
  /** Objects whose reading may be refused. */
  besides: readonly WatchTarget[];
  hint: () => void;
  /** How a connection is made. */
  connect?: (access: Access) => Cluster;
}>;

type FollowedObject = {
  target: WatchTarget;
  needed: boolean;
  informer: Informer;
  seen: Seen;
  /** Why the object cannot be followed now. */
  problem: string | undefined;
};
type Open = Readonly<{
  made: string;
  authority: string | undefined;
  cluster: Cluster;
  all: readonly FollowedObject[];
}>;

/**
 * What is known: nothing yet, why the guest is away, or what was shown of each object, the needed
 * ones first.
 */
export type KnownObjects = "unknown" | Readonly<{ away: string }> | readonly Seen[];

export class Connection {
  /** While it gives back what it has, a kubeconfig that is deleted closes no open connection. */
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
  /** When the kubeconfig is to be read again. */
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

  /** The open connection; undefined while there is none. */
  get cluster(): Cluster | undefined {
    return this.#open?.cluster;
  }

  /** Certificates of the authority of the open connection; the management cluster has none. */
  get authority(): string | undefined {
    return this.#open?.authority;
  }

  /**
   * True while nothing has shown what a write left. It is asked for; where there is no watch, the
   * list that begins the next one tells, in its own time. Until then a second write would be blind.
   */
  get doubted(): boolean {
    return this.#open?.all.some(({ informer }) => informer.doubted) === true;
  }

  /** Milliseconds for which the cluster counts as one that sends too much, if it does. */
  get excess(): number | undefined {
    const wait = this.#exceeded + excessMilliseconds - performance.now();
    return wait > 0 ? wait : undefined;
  }

  /**
   * To be called after a write. What it left is asked for where its answer did not tell. Without an
   * answer, the kubeconfig is read again too, because a watch outlives the token that opened it.
   */
  observeWrite(answered: boolean): void {
    this.#renew ||= !answered;
    // The answer is known at once. Its event comes later, if ever.
    for (const one of this.#open?.all ?? []) this.#show(one);
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
      one.problem = undefined;
      this.#show(one);
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
   * The management cluster did not tell how this cluster is reached. That it may not be read any
   * more is an answer, as good as a kubeconfig that was deleted.
   */
  #connectFailed(error: unknown): undefined {
    const revoked = error instanceof ApiError && error.status === 403;
    if (this.#open === undefined || revoked) this.#close(unreachableBecause(error));
  }

  /** The kubeconfig may have been renewed, or name another cluster. */
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
    // Behind a public authority the address tells two clusters apart.
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
      return { target, needed: isNeeded, informer: new Informer(), seen, problem: undefined };
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
        one.problem = undefined;
        if (this.#awayBecause === undefined) this.#failures = 0;
        this.#show(one);
      },
      failed: (error) => {
        if (!signal.aborted) this.#failed(one, error);
      },
    });
  }

  /** A watch that ended in its time begins again at once. Until then what it showed is kept. */
  #show(one: FollowedObject): void {
    const { shown } = one.informer;
    // The watch may not have shown our own write yet.
    if (shown === "list") this.#loop.hint();
    if (typeof shown === "string") return;
    one.seen = { is: "shown", object: shown.object };
    this.#options.hint();
  }

  /** Takes the end of a watch. An object that is not needed counts only when it is refused. */
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
    // A guest that was away already is tried again in its own time.
    if (known === undefined) this.#loop.hint();
  }
}

const certificate = /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/g;

/**
 * Base64 of PEM → its certificates as one text, the same whatever their order, their lines and what
 * stands between them.
 */
export function certificatesIn(authority: string): string {
  const text = Buffer.from(authority, "base64").toString();
  const found = Array.from(text.matchAll(certificate), ([, body = ""]) => body.replace(/\s/g, ""));
  // Where there is none, the text itself tells two clusters apart.
  return found.length === 0 ? text : [...new Set(found)].toSorted().join(" ");
}

/** Status and reason of the guest's answer, and nothing else, because the rest may be anything. */
export const answerOf = (error: unknown): string =>
  error instanceof ApiError ? error.bare : "its answer is not an API server's";

/** Why a cluster is not reached. A refused account is an answer, and lasts. */
export const unreachableBecause = (error: unknown): string => {
  const denied = error instanceof ApiError && [401, 403].includes(error.status);
  return sentence(denied ? "denied" : "unreachable", answerOf(error));
};

/**
 * What is known of an object whose reading may be refused, after it failed. What it showed last is
 * kept, unless it is not there or may not be read.
 */
function unseen(seen: Seen, error: unknown): Seen {
  const { status, reason } = error instanceof ApiError ? error : { status: 0, reason: "Unknown" };
  const why = `${status || "no answer"} ${reason}`;
  const gone = status === 403 || status === 404 || seen.is !== "shown";
  return gone ? { is: "refused", status, why } : { ...seen, failing: why };
}

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

const connectTo = (access: Access): Cluster =>
  connect(kubeConfigOf(access), () => {}, {
    manager: fleetManager,
    seconds: answerSeconds,
    largest: largestAnswer,
    fixed: true,
  });

/**
 * Milliseconds between two readings of a kubeconfig whose connection works, give or take a fifth:
 * for so long one is used that was replaced, deleted or is granted no more. No watch tells, which
 * would need a right to list Secrets. A thousand clusters make three reads a second.
 */
const readMilliseconds = 300_000;

/** When a kubeconfig that was read at `now` is to be read again. */
const staleAt = (now: number): number => now + readMilliseconds * (0.8 + 0.4 * Math.random());

export const fleetManager = "global-pull-secret-fleet";

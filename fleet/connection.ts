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
import { createLoop, type Again } from "#runtime/loop.ts";
import { follow, type WatchTarget } from "#kube/watch/watch.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import type { AccessReading } from "./inventory/access.ts";
import type { Seen } from "./transport/transport.ts";
import { sentence } from "./rules/problems.ts";
import { connect } from "#kube/client/client.ts";
import { kubeConfigOf } from "#kube/remote.ts";

/**
 * Milliseconds for which we warn after a cluster has sent too much data. The watch pauses for a
 * shorter time, so the warning stays while the cluster continues to send too much.
 */
const excessMilliseconds = 60_000;

/** Longest pause, in milliseconds, between two tries to reach a cluster. */
const longestPause = 30_000;

type Options = Readonly<{
  /**
   * Finds out how to reach the cluster; called before each connection and every five minutes. The
   * management cluster has a client instead.
   */
  reach: (() => Promise<AccessReading>) | Cluster;
  /** If one of these objects cannot be read, the cluster counts as unreachable. */
  needed: readonly WatchTarget[];
  /** If one of these objects cannot be read, the cluster still counts as reachable. */
  besides: readonly WatchTarget[];
  hint: () => void;
  connect?: (access: Access) => Cluster;
}>;

type FollowedObject = {
  target: WatchTarget;
  needed: boolean;
  informer: Informer;
  seen: Seen;
  /** Why we cannot read or watch the object now. */
  problem: string | undefined;
  /** Whether the result of a write was unknown at the last call of #show. */
  doubted: boolean;
  /** Whether `problem` or `doubted` has changed since the last hint. */
  news: boolean;
};
type Open = Readonly<{
  sourceText: string;
  cluster: Cluster;
  all: readonly FollowedObject[];
}>;

/**
 * `unknown` before the first answer. After the first answer: why the cluster is unreachable, or the
 * objects that we have read, with the needed objects first.
 */
export type KnownObjects = "unknown" | Readonly<{ away: string }> | readonly Seen[];

export class Connection {
  /**
   * True while the Secret is being removed from the cluster. The connection then stays open even if
   * the kubeconfig is deleted.
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
    return (
      this.#closedBecause ??
      this.#open?.all.find((object) => object.needed && object.problem)?.problem
    );
  }

  get cluster(): Cluster | undefined {
    return this.#open?.cluster;
  }

  /**
   * True while the result of a write is unknown. Until we have the result, we send no second write.
   * We read the object again or, if no watch is open, wait for the list that begins the next watch.
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
   * Call this after each write. If the answer did not contain the result, we read the object again.
   * If there was no answer, we also read the kubeconfig again, because its token might have expired
   * even if the watch is still open.
   */
  observeWrite(answered: boolean): void {
    this.#renew ||= !answered;
    // Uses the answer at once, because the watch event of this write might come later or never.
    for (const object of this.#open?.all ?? []) this.#show(object, object.problem);
    this.#loop.hint();
  }

  async #observe(): Promise<Again | undefined> {
    const renew = this.#renew || performance.now() >= this.#stale;
    if (this.#open === undefined || this.#awayBecause !== undefined || renew) {
      this.#renew = false;
      await this.#connect();
    }
    if (this.#open === undefined) return this.#later();
    for (const object of this.#open.all) {
      if (object.informer.shown !== "list") continue;
      try {
        await this.#open.cluster.get(`${object.target.collection}/${object.target.name}`);
      } catch (error) {
        this.#renew = true;
        this.#failed(object, error);
        return this.#later();
      }
      this.#show(object, undefined);
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
   * Called if we could not read the kubeconfig. An open connection stays open, except if we no
   * longer have the right to read the kubeconfig.
   */
  #connectFailed(error: unknown): undefined {
    const revoked = error instanceof ApiError && error.status === 403;
    if (this.#open === undefined || revoked) this.#close(unreachableBecause(error));
  }

  /** Reads the kubeconfig, and opens another connection if the kubeconfig has changed. */
  async #connect(): Promise<void> {
    const { reach, connect = connectTo } = this.#options;
    if (typeof reach !== "function") {
      if (this.#open === undefined) this.#begin("", reach);
      return;
    }
    const read = await reach();
    if (this.#stop.signal.aborted) return;
    this.#stale = staleAt(performance.now());
    if (this.leaving && this.#open !== undefined && !read.ok && read.absent === true) return;
    if (!read.ok) return this.#close(read.why);
    const { sourceText, access } = read;
    if (this.#open?.sourceText === sourceText) return;
    this.#begin(sourceText, connect(access));
  }

  #close(why: string): void {
    const before = this.#closedBecause;
    this.#following.abort();
    this.#open = undefined;
    this.#closedBecause = why;
    if (before !== why) this.#options.hint();
  }

  #begin(sourceText: string, live: Cluster): void {
    const { needed, besides } = this.#options;
    const followed = (target: WatchTarget, isNeeded: boolean): FollowedObject => {
      const seen: Seen = { is: "unknown" };
      const state = { seen, problem: undefined, doubted: false, news: false };
      return { target, needed: isNeeded, informer: new Informer(), ...state };
    };
    const all = [
      ...needed.map((target) => followed(target, true)),
      ...besides.map((target) => followed(target, false)),
    ];
    this.#following.abort();
    this.#following = new AbortController();
    this.#closedBecause = undefined;
    this.#open = { sourceText, cluster: cached(live, all), all };
    for (const object of all) this.#follow(object, live);
  }

  #follow(object: FollowedObject, cluster: Cluster): void {
    const { signal } = this.#following;
    void follow({
      cluster,
      target: object.target,
      informer: object.informer,
      longestPause,
      bounds,
      signal,
      exceeded: () => {
        const excess = this.excess;
        this.#exceeded = performance.now();
        if (excess === undefined) this.#options.hint();
      },
      hint: () => {
        if (signal.aborted) return;
        this.#show(object, undefined);
        if (this.#awayBecause === undefined) this.#failures = 0;
      },
      failed: (error) => {
        if (!signal.aborted) this.#failed(object, error);
      },
    });
  }

  /**
   * Stores the object that the watch shows, and hints only if something has changed, because each
   * hint runs the whole fleet. A watch that ended normally restarts at once, and shows the same
   * object again. With a thousand clusters, four watches restart each second.
   */
  #show(object: FollowedObject, problem: string | undefined): void {
    const { shown, doubted } = object.informer;
    if (problem !== object.problem || doubted !== object.doubted) object.news = true;
    Object.assign(object, { problem, doubted });
    // The watch might not have shown our own write yet, so #observe reads the object.
    if (shown === "list") this.#loop.hint();
    if (typeof shown === "string") return;
    const seen: Seen = { is: "shown", object: shown.object };
    if (!object.news && isDeepStrictEqual(seen, object.seen)) return;
    Object.assign(object, { seen, news: false });
    this.#options.hint();
  }

  /**
   * Handles a watch or a read that failed. An optional object does not make the cluster
   * unreachable.
   */
  #failed(object: FollowedObject, error: unknown): void {
    if (!object.needed) {
      const { seen } = object;
      object.seen = unseen(seen, error);
      if (JSON.stringify(seen) !== JSON.stringify(object.seen)) this.#options.hint();
      return;
    }
    const before = this.#awayBecause;
    object.problem = unreachableBecause(error);
    if (before === object.problem) return;
    this.#options.hint();
    // If the cluster was already unreachable, a pause is running, and we try again after it.
    if (before === undefined) this.#loop.hint();
  }
}

/**
 * HTTP status and reason of the cluster's answer. We quote nothing else, because a cluster can put
 * any text into its answer.
 */
export const answerOf = (error: unknown): string =>
  error instanceof ApiError ? error.bare : "its answer is not that of an API server";

/** The message that we cannot reach a cluster, or that the cluster refuses our account. */
export const unreachableBecause = (error: unknown): string => {
  const denied = error instanceof ApiError && [401, 403].includes(error.status);
  return sentence(denied ? "denied" : "unreachable", answerOf(error));
};

/**
 * The state of an optional object after a read of it has failed. We keep its last content, except
 * if it does not exist (404) or if we are not allowed to read it (403).
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
 * Maximum number of JSON values in such an answer. They take at most 11 MiB when parsed. A Secret
 * with 10,000 keys (excerpt.ts) has 60,000 values if two field managers own the keys and `kubectl
 * apply` has put a copy into an annotation.
 */
const mostValues = 100_000;

/**
 * How much data we accept from the watch of one object. A Secret rarely changes. The status of a
 * GlobalPullSecret changes once a second during a rollout, and has 100 KiB for hundreds of nodes. A
 * burst can contain the events of 10 s and the bytes of two largest objects. Reading a MiB takes at
 * most 80 ms of processor time, so a cluster that sends the maximum uses 2 % of a processor.
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
 * Milliseconds between two reads of a kubeconfig whose connection works, plus or minus 20 %. If
 * someone replaces or deletes a kubeconfig, or removes the right to read it, we use the old
 * kubeconfig for at most this long. We do not watch kubeconfigs, because a watch would need the
 * right to list Secrets. A thousand clusters cause three reads a second.
 */
const readMilliseconds = 300_000;

/** When to read again a kubeconfig that we read at `now`. */
const staleAt = (now: number): number => now + readMilliseconds * (0.8 + 0.4 * Math.random());

export const fleetManager = "global-pull-secret-fleet";

/**
 * A list, then a watch from its version, repeatedly. However a watch ended, a list follows, because
 * only a list shows what exists. There is one exception, for collections with a large list: after a
 * watch that lasted for its full time, the next watch can follow without a list.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { Allowance, type Rate } from "#kube/allowance.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster, Query } from "#kube/client/cluster.ts";
import { backoff } from "#kube/client/retry.ts";

/** Seconds of one watch. The client's HTTP library ends an answer that is silent for 300 s. */
const watchSeconds = 240;

/**
 * If the server has not ended a watch this many seconds after the timeout of the watch, we end it.
 */
const lateSeconds = 30;

/**
 * A watch that ends at most this many seconds early still counts as having lasted its full time.
 */
const earlySeconds = 2;

/** A change, as a watch shows it. */
type WatchEvent = Readonly<{ deleted: boolean; object: KubernetesObject; version: string }>;

export type ListWatch = Readonly<{
  cluster: Pick<Cluster, "stream">;
  path: string;
  query: Query;
  /** `metadata`: the events have the objects' metadata only. */
  as?: "metadata";
  /** Lists, and returns the version of the list. */
  list: () => Promise<string>;
  /**
   * The rates at which a server, or authors of objects, that are not trusted can send on a watch.
   * Beyond them, we end the watch, and a list follows after a pause. So the events cost no more
   * than that list, however many there are. Unused allowance is saved up from one watch to the
   * next.
   */
  bounds?: Readonly<{ events: Rate; bytes: Rate }>;
  /** Called when a watch was ended for sending more than `bounds`. */
  exceeded?: () => void;
  /** Called with each line of the watch. */
  arrives?: () => void;
  /** Called with each change. */
  received: (event: WatchEvent) => void;
  /** Called when the watch has ended and a list must follow. */
  lost?: () => void;
  /**
   * Whether a watch that lasted its full time is followed by another watch from the same position,
   * without a list. Do not use this for decisions that a stale list would harm, nor for small
   * lists, which cost little.
   */
  resumes?: boolean;
  /** Called when a list or a watch ended with an error, for the log. */
  failed: (error: Error) => void;
  signal: AbortSignal;
  /**
   * Maximum milliseconds between two attempts, if the usual maximum, a minute and a half, is too
   * long.
   */
  longestPause?: number;
}>;

/** Thrown when a watch ends in a way that is not a failure: the next list shows what was missed. */
export class Ended extends Error {
  /**
   * True if we ended the watch because it sent too much. The next list and watch then wait longer.
   */
  readonly excess: boolean;
  constructor(message: string, excess = false) {
    super(message);
    this.excess = excess;
  }
}

/** Lists and watches until `signal` aborts. Never rejects. */
export async function listAndWatch(options: ListWatch): Promise<void> {
  const { cluster, path, query, as, list, received, lost = () => {}, failed, signal } = options;
  const { arrives, resumes = false, longestPause = Number.POSITIVE_INFINITY } = options;
  const { bounds, exceeded } = options;
  const [events, bytes] = [
    bounds && new Allowance(bounds.events),
    bounds && new Allowance(bounds.bytes),
  ];
  // Called before the line is parsed, because parsing is the expensive part.
  function limit(line: string): void {
    if (events?.take(1) !== false && bytes?.take(Buffer.byteLength(line)) !== false) return;
    exceeded?.();
    throw new Ended("the watch sent more than it needs to", true);
  }
  let version: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    const started = performance.now();
    const over = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    let lasted = false;
    let excess = false;
    let asked = 0;
    try {
      version ??= await list();
      const began = performance.now();
      const seconds = watchSeconds + Math.floor(Math.random() * 30);
      timer = setTimeout(() => over.abort(), (seconds + lateSeconds) * 1000);
      const watch = {
        ...query,
        resourceVersion: version,
        allowWatchBookmarks: "true",
        timeoutSeconds: String(seconds),
      };
      const either = AbortSignal.any([signal, over.signal]);
      const take = (line: string): void => {
        limit(line);
        arrives?.();
        const event = readEvent(line);
        // A bookmark is not a change. It only shows that the watch is alive, and how far it is.
        if (!event.bookmark) received(event);
        version = event.version;
      };
      await cluster.stream(path, watch, either, take, as);
      lasted = performance.now() - began >= (seconds - earlySeconds) * 1000;
    } catch (error) {
      if (signal.aborted) break;
      excess = error instanceof Ended && error.excess;
      if (!(error instanceof Ended || over.signal.aborted)) failed(error as Error);
      asked = (error instanceof ApiError && error.retryAfterSeconds) || 0;
    } finally {
      clearTimeout(timer);
      if (!(resumes && lasted)) {
        version = undefined;
        lost();
      }
    }
    // A watch normally ends after minutes. Watches that end early must not cause a hot loop.
    failures = performance.now() - started > 10_000 && !excess ? 0 : failures + 1;
    const pause = Math.min(Math.max(backoff(failures), asked * 1000), longestPause);
    if (failures > 0) await sleep(pause, undefined, { signal }).catch(() => {});
  }
  if (version !== undefined) lost();
}

type Line = { type: string; object: KubernetesObject & { code?: number } };

/**
 * The event of a line. For a line that is not JSON, we throw an error that, unlike the parser's
 * error, does not quote the line, because the line can contain a Secret.
 */
function readEvent(line: string): WatchEvent & Readonly<{ bookmark: boolean }> {
  let read: Line;
  try {
    read = JSON.parse(line) as Line;
  } catch {
    throw new Error("a line of the watch is not JSON");
  }
  const { type, object } = read;
  const version = object.metadata?.resourceVersion;
  if (type === "ERROR" || version === undefined)
    throw new Ended(`watch ended with ${type} ${object.code ?? ""}`);
  return { bookmark: type === "BOOKMARK", deleted: type === "DELETED", object, version };
}

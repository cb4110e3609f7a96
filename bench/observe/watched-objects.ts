/**
 * The events of a watch with their times. They show within milliseconds that an object changed,
 * without another request.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Replacing as Api } from "#kube/client/cluster.ts";

/**
 * `at`: milliseconds of the wall clock. `gone`: the object was deleted; `object` is its last state.
 */
export type Sighting<T> = Readonly<{ at: number; object: T; gone: boolean }>;

type Line<T> = { type: string; object: T };

export class WatchedObjects<T> implements Disposable {
  readonly seen: Sighting<T>[] = [];
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();

  /**
   * Watches a collection. `query` selects objects, such as `{ fieldSelector: "metadata.name=x" }`.
   */
  constructor(api: Api, collection: string, query: Readonly<Record<string, string>>) {
    void this.#follow(api, collection, query);
  }

  /** The object as it is now; undefined if it does not exist, or was deleted. */
  current(): T | undefined {
    const last = this.seen.at(-1);
    return last?.gone === false ? last.object : undefined;
  }

  /**
   * The first matching event from `since` (milliseconds) on; waits for it at most `timeout`
   * seconds.
   */
  async first(
    what: string,
    fits: (seen: Sighting<T>) => boolean,
    since: number,
    timeout = 300,
  ): Promise<Sighting<T>> {
    const deadline = Date.now() + timeout * 1000;
    for (;;) {
      const match = this.seen.find((sighting) => sighting.at >= since && fits(sighting));
      if (match !== undefined) return match;
      if (Date.now() > deadline) throw new Error(`waited ${timeout} s in vain for ${what}`);
      await this.#next();
    }
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }

  /** Waits for the next event, at most a second. */
  async #next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const timer = setTimeout(resolve, 1000);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  async #follow(
    api: Api,
    collection: string,
    query: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // Without a resourceVersion a watch begins with the existing objects.
      await api.stream(collection, query, signal, (line) => this.#note(line)).catch(() => {});
      await sleep(100);
    }
  }

  #note(line: string): void {
    const { type, object } = JSON.parse(line) as Line<T>;
    if (type === "BOOKMARK" || type === "ERROR") return;
    this.seen.push({ at: Date.now(), object, gone: type === "DELETED" });
    for (const wake of this.#waiting) wake();
  }
}

/**
 * The objects of an API server. An object is never changed, only replaced, so a reader keeps what
 * it has read. A store remembers its last changes, so it can also show what a server that lags
 * behind would answer.
 */

/** For how many seconds a store remembers its changes. No server lags behind longer. */
const rememberedSeconds = 10;

type Change<T> = Readonly<{ time: number; key: string; before: T | undefined; writer: number }>;

export class Store<T> {
  readonly live = new Map<string, T>();
  /** Rises with each change. */
  version = 0;
  #changes: Change<T>[] = [];

  get(key: string): T | undefined {
    return this.live.get(key);
  }

  /**
   * Replaces an object, or deletes it if `value` is undefined. `writer`: 0, or the controller's
   * process.
   */
  set(time: number, key: string, value: T | undefined, writer = 0): void {
    this.#changes.push({ time, key, before: this.live.get(key), writer });
    if (this.#changes.length > 64) this.#forget(time);
    if (value === undefined) this.live.delete(key);
    else this.live.set(key, value);
    this.version += 1;
  }

  /** Brings back former objects. */
  restore(time: number, objects: ReadonlyMap<string, T>): void {
    for (const key of this.live.keys()) if (!objects.has(key)) this.set(time, key, undefined);
    for (const [key, value] of objects)
      if (this.live.get(key) !== value) this.set(time, key, value);
  }

  /** The objects of `seconds` ago. A process always reads at least what it wrote itself. */
  asOf(time: number, seconds: number, reader: number): ReadonlyMap<string, T> {
    const last = this.#changes.at(-1);
    if (seconds === 0 || last === undefined || last.time <= time - seconds) return this.live;
    const objects = new Map(this.live);
    const written = new Set<string>();
    for (let index = this.#changes.length - 1; index >= 0; index -= 1) {
      const change = this.#changes[index];
      if (change === undefined || change.time <= time - seconds) break;
      if (change.writer === reader) written.add(change.key);
      if (written.has(change.key)) continue;
      if (change.before === undefined) objects.delete(change.key);
      else objects.set(change.key, change.before);
    }
    return objects;
  }

  #forget(time: number): void {
    const [first] = this.#changes;
    if (first === undefined || first.time > time - 2 * rememberedSeconds) return;
    this.#changes = this.#changes.filter((change) => change.time > time - rememberedSeconds);
  }
}

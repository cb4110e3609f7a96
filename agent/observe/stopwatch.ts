/** Measures how long values stay the same, by a clock that never jumps. */
export class Stopwatch {
  readonly #seen = new Map<string, { value: string; since: number; noted: boolean }>();
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Notes the present value. Returns for how many milliseconds it has been that; 0 for none. */
  held(name: string, value: string | undefined): number {
    const now = this.#clock();
    const seen = this.#seen.get(name);
    if (value === undefined) {
      this.#seen.delete(name);
      return 0;
    }
    const since = seen?.value === value ? seen.since : now;
    this.#seen.set(name, { value, since, noted: true });
    return now - since;
  }

  /** Begins a new look, and forgets what the last one did not note. */
  next(): void {
    for (const [name, seen] of this.#seen) {
      if (!seen.noted) this.#seen.delete(name);
      seen.noted = false;
    }
  }
}

/** Milliseconds for which a file that may not be replaced is not tried again. */
const barredFor = 60_000;

/**
 * What this process has done. Writes are spaced: the first is made at once, the next 1 s later,
 * doubling to a minute while they follow each other within five minutes. So another program that
 * rewrites the file every 100 ms costs one write a minute.
 */
export class Deeds {
  /** Restarts that systemd has taken on. */
  restarts = 0;
  /** The last write failed, and not because another writer was at work. */
  unwritable = false;
  #barred: Readonly<{ why: string; at: number }> | undefined;
  #cleaned = Number.NEGATIVE_INFINITY;
  #restarted = Number.NEGATIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;
  #count = 0;
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Milliseconds until config.json may be written again. */
  writeIn(): number {
    const passed = this.#clock() - this.#last;
    return Math.max(0, Math.min(60_000, 500 * 2 ** this.#count) - passed);
  }

  /** The system does not let us replace the file, and nothing on the node was touched. */
  bar(why: string): void {
    this.#barred = { why, at: this.#clock() };
  }

  /** Why the file may not be replaced, for a minute after that was tried. */
  barred(): string | undefined {
    const { why, at = 0 } = this.#barred ?? {};
    return this.#clock() - at < barredFor ? why : undefined;
  }

  /** systemd has taken a restart on. */
  restarted(): void {
    this.restarts += 1;
    this.#restarted = this.#clock();
  }

  /** Milliseconds since then; infinite before the first. */
  sinceRestart(): number {
    return this.#clock() - this.#restarted;
  }

  /** An old copy of ours was taken out after a withdrawal. */
  cleaned(): void {
    this.#cleaned = this.#clock();
  }

  /** Milliseconds since then; infinite before the first. */
  sinceCleaned(): number {
    return this.#clock() - this.#cleaned;
  }

  wrote(): void {
    const now = this.#clock();
    this.#count = now - this.#last > 300_000 ? 1 : Math.min(this.#count + 1, 10);
    this.#last = now;
  }
}

/** Clocks that never jump, and the history of this process's actions. */
import { readFileSync } from "node:fs";
import type { BootTime } from "../journal/journal.ts";

/** Measures for how long a value stays the same. */
export class Stopwatch {
  #value: string | undefined;
  #since = 0;
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Notes the present value. Returns for how many milliseconds it has been unchanged; 0 for
   * `undefined`.
   */
  unchangedFor(value: string | undefined): number {
    const now = this.#clock();
    if (value !== this.#value) [this.#value, this.#since] = [value, now];
    return value === undefined ? 0 : now - this.#since;
  }
}

/**
 * Milliseconds until the next try of a write that failed, and the longest pause. What leaves must
 * leave soon.
 */
const [firstPause, longestPause] = [2000, 30_000];

/**
 * Writes of this process that undo or record what another program wrote. They are spaced: the first
 * is immediate, the next comes 1 s later, and the pause doubles up to a minute while writes follow
 * each other within five minutes. Content that the node is asked to take starts the count again.
 */
export class History {
  #failure: Readonly<{ why: string; until: number }> | undefined;
  #failures = 0;
  #last = Number.NEGATIVE_INFINITY;
  #count = 0;
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Milliseconds until the agent may repair a file, or record another program's changes. */
  writeIn(): number {
    const passed = this.#clock() - this.#last;
    return Math.max(0, Math.min(60_000, 500 * 2 ** this.#count) - passed);
  }

  /** Why the last write failed; undefined once it may be tried again. */
  blocked(): string | undefined {
    const { why, until = 0 } = this.#failure ?? {};
    return this.#clock() < until ? why : undefined;
  }

  failed(why: string): void {
    const pause = Math.min(longestPause, firstPause * 2 ** this.#failures);
    this.#failure = { why, until: this.#clock() + pause };
    this.#failures = Math.min(this.#failures + 1, 10);
  }

  /** A write succeeded. */
  succeeded(): void {
    this.#failure = undefined;
    this.#failures = 0;
  }

  /** The node takes new content. Its writes wait for nothing. */
  startOver(): void {
    this.#count = 0;
    this.#last = Number.NEGATIVE_INFINITY;
  }

  /** A file was written, by us or by another program. */
  wrote(): void {
    const now = this.#clock();
    this.#count = now - this.#last > 300_000 ? 1 : Math.min(this.#count + 1, 10);
    this.#last = now;
  }
}

/**
 * The present boot and the time since it, on a clock that all processes share. Throws if there is
 * no /proc.
 */
export function bootTime(): BootTime {
  boot ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  return { boot, monotonic: Math.round(Number(process.hrtime.bigint() / 1_000_000n)) };
}

let boot: string | undefined;

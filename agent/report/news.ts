/**
 * Decides which steps are worth a log line. Limited by time, not by memory: what lasts is always
 * logged, even after months, and what flaps costs at most 100 lines an hour.
 */
import type { Step } from "../facts/step.ts";

const minute = 60_000;
/** Actions, not states: logged whenever there is room, however often. */
const deeds: ReadonlySet<Step["action"]> = new Set(["restart", "leave", "give up", "end"]);
/** After these something was achieved, and what was logged before may be logged again. */
const achievements: ReadonlySet<Step["action"]> = new Set([...deeds, "record"]);
/** A rollout takes a dozen lines; this is room for three, and for what follows. */
const burst = 40;
/**
 * A state that returns within this time is no news: an operation that is tried every 30 s may fail
 * for hours.
 */
const remembered = 10 * minute;

export class News {
  readonly #clock: () => number;
  /** Milliseconds that may be spent; a line costs a minute. */
  #saved = burst * minute;
  #looked: number;
  /** State → when it was told. There are as many as codes, twice. */
  readonly #told = new Map<string, number>();
  #present = { state: "", since: 0 };
  #last = { state: "", line: "", at: 0 };

  /** `clock`: milliseconds that never jump. */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#looked = clock();
  }

  /**
   * Whether the step is to be told, as this line; if so, it counts as told. The law: a code with a
   * readiness that has stood for a minute is the last one told; and in no hour are there more than
   * 100 lines.
   */
  take({ action, code, ready }: Pick<Step, "action" | "code" | "ready">, line: string): boolean {
    const now = this.#clock();
    this.#saved = Math.min(burst * minute, this.#saved + now - this.#looked);
    this.#looked = now;
    const state = `${code} ${ready}`;
    if (this.#present.state !== state) this.#present = { state, since: now };
    const worth = deeds.has(action) || this.#isNew(state, line, now);
    if (!worth || this.#saved < minute) return false;
    this.#saved -= minute;
    if (ready || achievements.has(action)) this.#told.clear();
    this.#told.set(state, now);
    this.#last = { state, line, at: now };
    return true;
  }

  #isNew(state: string, line: string, now: number): boolean {
    const { since } = this.#present;
    const last = this.#last;
    // Only the detail differs, such as the size of a file that grows.
    if (last.state === state) return last.line !== line && now - last.at >= minute;
    const told = this.#told.get(state);
    return told === undefined || now - told >= remembered || now - since >= minute;
  }
}

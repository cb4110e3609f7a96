/**
 * The agent's loop: observe, decide, act, wait. Only one round runs at a time. However many hints
 * arrive during a round, they cause one more round.
 */
import { setImmediate } from "node:timers/promises";
import type { Step } from "./facts/step.ts";

export type Round = Readonly<{
  next: () => Promise<Step>;
  /** Logs the step. */
  report: (step: Step) => void;
  act: (step: Step) => Promise<void>;
  /** The step after a failed round or a failed action. */
  failed: (error: unknown) => Step;
  /** Releases resources that steps share, before a pause. */
  idle: () => void;
}>;

/** The longest pause, in milliseconds, between two attempts at an operation that fails. */
const longestBackOff = 30_000;
/**
 * The shortest time, in milliseconds, between two rounds that hints cause. The first round is
 * immediate. Without this limit, a program that writes its own entry 90 times a second would cost
 * the agent a sixth of a CPU.
 */
const hintSpacing = 100;

export class Loop {
  #isHinted = false;
  /**
   * `#wake` ends the present pause on a hint if the pause allows hints. `#end` always ends it.
   */
  #wake = () => {};
  #end = () => {};
  readonly #stop: AbortSignal;
  /** The last step, and how often it came again in succession. */
  #last = "";
  #tries = 0;
  #hinted = Number.NEGATIVE_INFINITY;
  readonly #clock: () => number;

  /** `clock`: milliseconds that never jump. */
  constructor(stop: AbortSignal, clock: () => number) {
    this.#stop = stop;
    // One listener serves all pauses. If each pause created its own signal, all these signals would
    // stay in the list of `stop` for ever.
    stop.addEventListener("abort", () => this.#end());
    this.#clock = clock;
  }

  /** Requests another round soon. */
  hint(): void {
    this.#isHinted = true;
    this.#wake();
  }

  /** Runs until it is stopped. */
  async run(round: Round): Promise<void> {
    while (!this.#stop.aborted) {
      // A hint that arrives during the work ends the next wait at once.
      this.#isHinted = false;
      // The step is not kept. It can use 20 MiB of memory, which the next round needs.
      const pause = this.#pause(await this.#once(round));
      if (pause > 0) {
        round.idle();
        await this.#wait(pause);
      } else {
        // Otherwise, a signal would not be handled as long as no step waits.
        await setImmediate();
      }
    }
  }

  async #once(round: Round): Promise<Pick<Step, "action" | "again" | "code">> {
    let step: Step;
    try {
      step = await round.next();
      round.report(step);
      await round.act(step);
    } catch (error) {
      step = round.failed(error);
      if (!this.#stop.aborted) round.report(step);
    }
    const { action, again, code } = step;
    return { action, again, code };
  }

  /** A change that is due again at once has had no effect, so it is tried less and less often. */
  #pause({ action, again, code }: Pick<Step, "action" | "again" | "code">): number {
    const last = `${action} ${code} ${again}`;
    this.#tries = this.#last === last ? this.#tries + 1 : 0;
    this.#last = last;
    if (again !== "back off" && (again > 0 || this.#tries === 0)) return again;
    const tries = again === "back off" ? this.#tries : this.#tries - 1;
    return Math.min(longestBackOff, 1000 * 2 ** Math.min(tries, 10));
  }

  async #wait(milliseconds: number): Promise<void> {
    const over = this.#clock() + milliseconds;
    if (!this.#isHinted) await this.#pass(milliseconds, true);
    if (!this.#isHinted) return;
    const spaced = Math.min(this.#hinted + hintSpacing, over) - this.#clock();
    if (spaced > 0) await this.#pass(spaced, false);
    this.#hinted = this.#clock();
  }

  async #pass(milliseconds: number, untilHint: boolean): Promise<void> {
    if (this.#stop.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    this.#end = resolve;
    this.#wake = untilHint ? resolve : () => {};
    await promise;
    clearTimeout(timer);
  }
}

/**
 * The agent's loop: look, decide, act, wait; one run at a time. Any number of hints means "look
 * again" once.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { exitCodes } from "#contract/names.ts";
import type { Code } from "./facts/problems.ts";
import type { Step } from "./facts/step.ts";

export type Round = Readonly<{
  /** Looks and decides. */
  next: () => Promise<Step>;
  /** Makes the step known: readiness, log, termination message. */
  report: (step: Step) => void;
  /** Executes the step. */
  act: (step: Step) => Promise<void>;
  /** What a failed look or act means. */
  failed: (error: unknown) => Step;
  /** Releases resources shared between steps, before a pause. */
  idle: () => void;
}>;

/** The longest pause, in milliseconds, between two tries of what fails. */
const longestBackOff = 30_000;
/**
 * The shortest time, in milliseconds, between two looks that hints cause. The first look comes at
 * once. Without it, a program that writes its own entry 90 times a second costs a sixth of a core.
 */
const hintSpacing = 100;

export class Loop {
  #wake = new AbortController();
  readonly #stop: AbortSignal;
  #troubled: Code | undefined;
  #tries = 0;
  #hinted = Number.NEGATIVE_INFINITY;
  readonly #clock: () => number;

  /** `clock`: milliseconds that never jump. */
  constructor(stop: AbortSignal, clock: () => number) {
    this.#stop = stop;
    this.#clock = clock;
  }

  /** Asks for another look, soon. */
  hint(): void {
    this.#wake.abort();
  }

  /** Runs until stopped, or until a step ends it or gives up. Returns the exit code. */
  async run(round: Round): Promise<number> {
    while (!this.#stop.aborted) {
      // A hint during the work is kept, and ends the next wait at once.
      this.#wake = new AbortController();
      // Not the step itself: it may hold 20 MiB, which the next look needs.
      const { again, code, exit } = await this.#once(round);
      if (exit !== undefined) return exit;
      const pause = this.#pause(again, code);
      if (pause === 0) continue;
      round.idle();
      await this.#wait(pause);
    }
    return exitCodes.done;
  }

  async #once(round: Round): Promise<Pick<Step, "again" | "code"> & { exit: number | undefined }> {
    let step: Step;
    try {
      step = await round.next();
      round.report(step);
      await round.act(step);
    } catch (error) {
      step = round.failed(error);
      if (!this.#stop.aborted) round.report(step);
    }
    const { again, code } = step;
    const exit =
      step.action === "end" ? step.exit : step.action === "give up" ? exitCodes.gaveUp : undefined;
    return { again, code, exit };
  }

  #pause(again: Step["again"], code: Code): number {
    if (again !== "back off") {
      this.#tries = 0;
      return again;
    }
    this.#tries = this.#troubled === code ? this.#tries + 1 : 0;
    this.#troubled = code;
    return Math.min(longestBackOff, 1000 * 2 ** Math.min(this.#tries, 10));
  }

  async #wait(milliseconds: number): Promise<void> {
    const over = this.#clock() + milliseconds;
    await pass(milliseconds, AbortSignal.any([this.#wake.signal, this.#stop]));
    if (!this.#wake.signal.aborted) return;
    const spaced = Math.min(this.#hinted + hintSpacing, over) - this.#clock();
    if (spaced > 0) await pass(spaced, this.#stop);
    this.#hinted = this.#clock();
  }
}

async function pass(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => {});
}

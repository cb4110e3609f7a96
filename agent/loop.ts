/** The agent's one loop: look, decide, act, wait; one run at a time. A hint means "look again", however many there were. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Code } from "./problems.ts";
import type { Step } from "./step.ts";

export type Turn = Readonly<{
  /** Looks and decides. */
  next: () => Promise<Step>;
  /** Makes the step known: readiness, log, termination message. */
  tell: (step: Step) => void;
  /** Does it. */
  act: (step: Step) => Promise<void>;
  /** What a failed look or act means. */
  failed: (error: unknown) => Step;
  /** Gives up what one step keeps for the next: there will be a wait. */
  rest: () => void;
}>;

/** Most milliseconds between two tries of what does not work. */
const longestBackOff = 30_000;

export class Loop {
  #wake = new AbortController();
  readonly #stop: AbortSignal;
  #troubled: Code | undefined;
  #tries = 0;

  constructor(stop: AbortSignal) {
    this.#stop = stop;
  }

  /** Look again, soon. */
  hint(): void {
    this.#wake.abort();
  }

  /** Runs until stopped (answers 0) or until a step gives up (answers 1). */
  async run(turn: Turn): Promise<number> {
    while (!this.#stop.aborted) {
      // A hint that comes while we work is kept: it wakes the next wait at once.
      this.#wake = new AbortController();
      // Not the step: it may hold 20 MiB, which the next look needs.
      const { action, again, code } = await this.#once(turn);
      if (action === "give up") return 1;
      const pause = this.#pause(again, code);
      if (pause === 0) continue;
      turn.rest();
      await this.#wait(pause);
    }
    return 0;
  }

  async #once(turn: Turn): Promise<Pick<Step, "action" | "again" | "code">> {
    let step: Step;
    try {
      step = await turn.next();
      turn.tell(step);
      await turn.act(step);
    } catch (error) {
      step = turn.failed(error);
      if (!this.#stop.aborted) turn.tell(step);
    }
    const { action, again, code } = step;
    return { action, again, code };
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
    const signal = AbortSignal.any([this.#wake.signal, this.#stop]);
    await sleep(milliseconds, undefined, { signal }).catch(() => {});
  }
}

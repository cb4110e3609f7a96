/**
 * A mount that has gone stale: what the host mounted over or made anew after our start does not reach us, so the
 * bus's socket is dead or missing for ever. Only a new container gets a new mount, so the agent ends.
 */
import type { Step } from "./step.ts";

/** Longer than any restart of the bus; each life lasts so long at least, so the kubelet never backs off. */
const patience = 300_000;

export class Stale {
  readonly #clock: () => number;
  #since: number | undefined;

  /** `clock`: milliseconds that never jump. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * The step that takes this one's place: an end, where the bus's socket has answered nobody for five minutes. Not
   * while healthz is silent: a kubelet that is down starts no container, and we are the one to revive it.
   * What is owed is in the journal, and the next container makes it good.
   */
  async instead(step: Step, healthz: () => Promise<boolean>): Promise<Step> {
    const unreached = step.code === "GPS210" && /\b(ENOENT|ECONNREFUSED)\b/.test(step.detail ?? "");
    // A look that asks nobody, since the file changes, say, tells neither way.
    if (step.ready || (step.code === "GPS210" && !unreached)) this.#since = undefined;
    if (!unreached) return step;
    this.#since ??= this.#clock();
    if (this.#clock() - this.#since < patience || !(await healthz())) return step;
    return { action: "end", code: "GPS241", detail: step.detail, ready: false, again: 0, exit: 0 };
  }
}

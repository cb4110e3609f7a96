/** Writes that do not last: somebody in the management cluster undoes them, each at once. */
import { Allowance } from "#kube/allowance.ts";

/**
 * Writes of one content. Ten edits that are repaired at once are nothing special; what needs more
 * than one a minute, for ever, has another writer, and each write would be followed by the next.
 */
const writes = { perSecond: 1 / 60, atOnce: 10 };

/** Of one object. A generation is a content: what its user changes is written at once. */
export class Rewrites {
  #of: number | undefined;
  #left = new Allowance(writes);

  wrote(generation: number | undefined, now: number): void {
    if (this.#of !== generation) this.#left = new Allowance(writes, now);
    this.#of = generation;
    this.#left.take(1, now);
  }

  /** True while that may not be written again. */
  isLost(generation: number | undefined, now: number): boolean {
    return this.#of === generation && this.#left.when(1, now) > now;
  }
}

/**
 * Memory between two looks. A look at the largest Secret leaves 4 MB of garbage, and V8 would let its heap grow from 12 to 22 MB
 * before it collects by itself: on every node, for a change that takes seconds (docs/decisions/0007).
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Bytes. What an agent with a small Secret loads and leaves until it rests is 2.4 MB: its change is never held up by a collection.
 * The kubelet's probes leave as much in an hour, and a collection costs more than its 10 ms: V8 forgets with it what it compiled.
 */
const mostGarbage = 3_000_000;

export class Spare {
  #limit: number;
  readonly #used: () => number;
  readonly #collect: () => void;

  /** `used`: bytes of the heap in use; `collect` collects all garbage at once. */
  constructor(used = () => process.memoryUsage().heapUsed, collect = collectAll) {
    this.#used = used;
    this.#collect = collect;
    this.#limit = used() + mostGarbage;
  }

  /** Gives back what the looks so far have left, if it is much. Nothing of them may be held any more. */
  tidy(): void {
    if (this.#used() < this.#limit) return;
    this.#collect();
    this.#limit = this.#used() + mostGarbage;
  }
}

let gc: (() => void) | undefined;

/**
 * As flags of the start they would make V8 refuse Node's own code cache (27 ms). Marking little by little, V8's usual way, lets the
 * heap go on growing meanwhile: by 8 MB where processors are busy. What V8 forgets with a collection it compiles again after as
 * many calls as that bound says, 3,000 by default: at a probe a second most of the time until the next collection.
 */
export function collectAll(): void {
  if (gc === undefined) {
    const flags = ["--expose-gc", "--no-incremental-marking", "--invocation-count-for-turbofan=400"];
    for (const flag of flags) setFlagsFromString(flag);
    gc = runInNewContext("gc") as () => void;
  }
  gc();
}

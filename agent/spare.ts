/**
 * Memory between two looks. A look at the largest Secret leaves 4 MB of garbage, and V8 would let its heap grow from 12 to 22 MB
 * before it collects by itself: on every node, for a change that takes seconds (docs/decisions/0007).
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes. A small Secret's look leaves 0.3 MB, its first one 1.4; the largest one's leaves 2.7, then 7, and the next adds its own. */
const aLook = 2_000_000;
/** Bytes. What an agent with a small Secret loads and leaves until its kubelet's restart is less: no collection holds that up. */
const inAll = 3_000_000;

export class Spare {
  readonly #used: () => number;
  readonly #collect: () => void;
  /** In use after the last collection, and before the last look. */
  #least: number;
  #before: number;
  #settled = false;

  /** `used`: bytes of the heap in use; `collect` collects all garbage at once. */
  constructor(used = () => process.memoryUsage().heapUsed, collect = collectAll) {
    this.#used = used;
    this.#collect = collect;
    this.#least = this.#before = used();
  }

  /** Gives back what the looks so far have left, if it is much. Nothing of them may be held any more. */
  tidy(): void {
    const used = this.#used();
    const much = used - this.#before >= aLook || used - this.#least >= inAll;
    this.#before = used;
    if (much) this.#giveBack();
  }

  /**
   * Once, for an agent that rests: what was compiled for its work is lost in its first collection, and would be compiled again after
   * 3,000 calls. At a probe a second that is most of an hour (docs/decisions/0012).
   */
  settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    setFlagsFromString("--invocation-count-for-turbofan=400");
    this.#giveBack();
  }

  #giveBack(): void {
    this.#collect();
    this.#least = this.#before = this.#used();
  }
}

let gc: (() => void) | undefined;

/**
 * As flags of the start both would make V8 refuse Node's own code cache (27 ms). Marking little by little, V8's usual way, lets the
 * heap go on growing meanwhile: by 8 MB where processors are busy.
 */
export function collectAll(): void {
  if (gc === undefined) {
    for (const flag of ["--expose-gc", "--no-incremental-marking"]) setFlagsFromString(flag);
    gc = runInNewContext("gc") as () => void;
  }
  gc();
}

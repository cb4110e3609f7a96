/**
 * Two statements that nobody can forge, because the container makes them by its exit code and
 * termination message: the node is given back, and the node is refused. Readiness will not do: any
 * local process can answer on that port in our place (SECURITY.md).
 *
 * Each is made once in a pod's life. A mark in the pod's own directory tells the next container,
 * which stays, watches, and heals at once.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { exitCodes } from "#contract/names.ts";
import { hasCode } from "../files/errno.ts";
import { atOnce, type Step } from "../facts/step.ts";
import { codes } from "../facts/problems.ts";

type Mark = "released" | "refused";

/** A refusal must last this long before it ends the container: it may heal meanwhile. */
const stands = 10_000;

export class Word {
  readonly #file: string;
  readonly #revision: number;
  readonly #clock: () => number;
  readonly #said: Set<string>;
  #refusedSince: number | undefined;

  /** `directory` is the pod's own; `clock`: milliseconds that never jump. */
  constructor(directory: string, revision: number, clock: () => number) {
    this.#file = join(directory, "word");
    this.#revision = revision;
    this.#clock = clock;
    this.#said = new Set(readMarks(this.#file));
  }

  /**
   * Returns the step, or an end in its place where a statement is due. The released end comes
   * before the agent is Ready for the first time; from then on it stays Ready.
   */
  instead(step: Step): Step {
    const refused = "refused" in step;
    this.#refusedSince = refused ? (this.#refusedSince ?? this.#clock()) : undefined;
    if (
      this.#revision > 0 &&
      step.code === codes.withdrawn &&
      step.ready &&
      !this.#said.has("released")
    )
      return end(step, exitCodes.done);
    if (this.#refusedSince === undefined || this.#said.has("refused")) return step;
    const left = this.#refusedSince + stands - this.#clock();
    if (left <= 0) return end(step, exitCodes.refused);
    return step.again === "back off" ? step : { ...step, again: Math.min(step.again, left) };
  }

  /**
   * Marks the word as said: to be called after it was left as the termination message, right before
   * the end. A kill before leaves no mark, and the next container says it. Throws where no mark can
   * be made; a refusal is then not tried again, since the reason for it is worth more.
   */
  mark(exit: number): void {
    const mark: Mark = exit === exitCodes.refused ? "refused" : "released";
    if (mark === "refused") this.#said.add(mark);
    appendFileSync(this.#file, `${mark}\n`, { mode: 0o600 });
    this.#said.add(mark);
  }
}

function end({ code, detail }: Step, exit: number): Step {
  return atOnce({ action: "end", code, detail, exit });
}

function readMarks(file: string): string[] {
  try {
    return readFileSync(file, "latin1").split("\n");
  } catch (error) {
    // Another's template, without the directory.
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

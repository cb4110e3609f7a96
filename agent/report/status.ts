/**
 * Makes steps known: readiness at once, the log and the termination message when there is something
 * new.
 */
import { BusError, CouldNotAsk } from "../systemd/bus.ts";
import { describe } from "../files/errno.ts";
import type { Log } from "./log.ts";
import { News } from "./news.ts";
import type { Readiness } from "./readiness.ts";
import { codes, type Code, say } from "../facts/problems.ts";
import { FileChanged, FileError } from "../files/atomic-write.ts";
import { type Step, wait } from "../facts/step.ts";

export class Status {
  #readiness: Readiness;
  #word = "";
  readonly #news: News;
  readonly #log: Log;
  readonly #revision: number;
  readonly #leaveWord: (line: string) => void;

  /** `leaveWord` replaces the termination message; `clock`: milliseconds that never jump. */
  constructor(log: Log, revision: number, leaveWord: (line: string) => void, clock: () => number) {
    this.#log = log;
    this.#revision = revision;
    this.#leaveWord = leaveWord;
    this.#news = new News(clock);
    const line = this.#signed(say(codes.incomplete, "starting"));
    this.#readiness = { ready: false, code: codes.incomplete, line };
  }

  get readiness(): Readiness {
    return this.#readiness;
  }

  /** Tells a step before it is done; in the log where it is news (news.ts). */
  tell(step: Step): void {
    const line = say(step.code, step.detail);
    const signed = this.#signed(line);
    // Between two records the state does not flicker: a step that is over at once changes readiness
    // by its successor.
    if (step.again !== 0 || step.action !== "record")
      this.#readiness = { ready: step.ready, code: step.code, line: signed };
    if (this.#news.take(step, line))
      this.#log({ action: step.action, code: step.code, ready: step.ready }, line);
    const word = step.ready ? "" : signed;
    if (word === this.#word) return;
    this.#word = word;
    try {
      this.#leaveWord(word);
    } catch {
      // Nobody's concern.
    }
  }

  /**
   * Of which revision the word is: a pod's status may be read when its template is another one
   * already.
   */
  #signed(line: string): string {
    return `${line} (revision ${this.#revision})`;
  }

  /** What an action answered, such as a job's result. */
  done(step: Step, outcome: string | undefined): void {
    if (outcome !== undefined) this.#log({ action: step.action, code: step.code }, outcome);
  }
}

/** An error as a step: nothing is changed, and it is tried again. */
export function trouble(error: unknown): Step {
  const failed = (code: Code, again: Step["again"]) => wait(code, again, describe(error));
  if (error instanceof FileChanged) return failed(codes.changedMeanwhile, 100);
  if (error instanceof CouldNotAsk || error instanceof BusError)
    return failed(codes.systemdUnknown, "back off");
  if (error instanceof FileError || (error instanceof Error && "syscall" in error))
    return failed(codes.fileFailed, "back off");
  return failed(codes.unforeseen, "back off");
}

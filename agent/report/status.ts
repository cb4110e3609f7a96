/** Reports steps: readiness at once, the log and the termination message when there is news. */
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

  /** Reports a step before it is done; in the log where it is news (news.ts). */
  report(step: Step): void {
    const line = say(step.code, step.detail);
    const signed = this.#signed(line);
    // A record is over at once, and its successor sets the readiness: it must not flicker between.
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
      // A termination message that cannot be written is no reason to fail.
    }
  }

  /** Names the revision: a pod's status may be read when the template has another one already. */
  #signed(line: string): string {
    return `${line} (revision ${this.#revision})`;
  }

  /** Logs what an action returned, such as a job's result. */
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

/** Makes steps known: readiness at once, the log and the termination message when there is something new. */
import { BusError, CouldNotAsk } from "./bus.ts";
import type { Log } from "./log.ts";
import type { Readiness } from "./probe.ts";
import { type Code, say } from "./problems.ts";
import { FileChanged, FileError } from "./replace.ts";
import type { Step } from "./step.ts";

/** After these what was told before may be told again. */
const achievements: ReadonlySet<Step["action"]> = new Set(["record", "restart", "leave", "give up"]);
/** Different lines without any achievement: whatever changes that often need not be followed in a log. */
const mostLines = 100;

export class Teller {
  #readiness: Readiness = { ready: false, line: say("GPS202", "starting") };
  readonly #told = new Set<string>();
  #word = "";
  readonly #log: Log;
  readonly #leaveWord: (line: string) => void;

  /** `leaveWord` replaces the termination message. */
  constructor(log: Log, leaveWord: (line: string) => void) {
    this.#log = log;
    this.#leaveWord = leaveWord;
  }

  get readiness(): Readiness {
    return this.#readiness;
  }

  /**
   * Tells a step before it is done. The same thing is told once, until something has been achieved: an operation that fails
   * for hours, tried every 30 s, leaves two lines.
   */
  tell(step: Step): void {
    const line = say(step.code, step.detail);
    // Between two records the state does not flicker: a step that is over at once changes readiness by its successor.
    if (step.again !== 0 || step.action !== "record") this.#readiness = { ready: step.ready, line };
    const told = `${step.action} ${line}`;
    if (!this.#told.has(told) && this.#told.size < mostLines) {
      if (achievements.has(step.action) || step.ready) this.#told.clear();
      this.#told.add(told);
      this.#log({ action: step.action, code: step.code, ready: step.ready }, line);
    }
    const word = step.ready ? "" : line;
    if (word === this.#word) return;
    this.#word = word;
    try {
      this.#leaveWord(word);
    } catch {
      // Nobody's concern.
    }
  }

  /** What an action answered, such as a job's result. */
  done(step: Step, outcome: string | undefined): void {
    if (outcome !== undefined) this.#log({ action: step.action, code: step.code }, outcome);
  }
}

/** An error as a step: nothing is changed, and it is tried again. */
export function trouble(error: unknown): Step {
  const failed = (code: Code, again: Step["again"]): Step => ({
    action: "wait",
    code,
    detail: error instanceof Error ? error.message : String(error),
    ready: false,
    again,
  });
  if (error instanceof FileChanged) return failed("GPS209", 100);
  if (error instanceof CouldNotAsk || error instanceof BusError) return failed("GPS210", "back off");
  if (error instanceof FileError || (error instanceof Error && "syscall" in error)) return failed("GPS208", "back off");
  return failed("GPS228", "back off");
}

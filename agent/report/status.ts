/** Logs steps, if there is something new. */
import { SystemdError, NoAnswer, NoSystemd, RestartRefused } from "../systemd/connection.ts";
import { describe } from "../files/errno.ts";
import { codes, type Code, formatLine, type Step, wait } from "../facts/step.ts";
import { FileChanged, FileError } from "../files/atomic-write.ts";
import { openNodeLog } from "#runtime/log.ts";
import { helpIn } from "#contract/help.ts";

export class Status {
  readonly #limiter: LogLimiter;
  readonly #log: Log;

  /** `clock`: milliseconds that never jump. */
  constructor(log: Log, clock: () => number) {
    this.#log = log;
    this.#limiter = new LogLimiter(clock);
  }

  /**
   * Logs a step before it is executed, if `LogLimiter` admits it. `revision`: the revision on the
   * node; 0: none.
   */
  report(step: Step, revision: number): void {
    const line = formatLine(step.code, step.detail);
    if (this.#limiter.admits(step, line))
      this.#log({ revision, action: step.action, code: step.code }, line);
  }

  /** Logs the result of an action, such as the result of a systemd job. */
  done(step: Step, outcome: string | undefined, revision: number): void {
    if (outcome !== undefined)
      this.#log({ revision, action: step.action, code: step.code }, outcome);
  }
}

/** The step for an error: changes nothing, and tries again. */
export function failureStep(error: unknown): Step {
  const failed = (code: Code, again: Step["again"]) => wait(code, again, describe(error));
  if (error instanceof FileChanged) return failed(codes.changedMeanwhile, 100);
  if (error instanceof RestartRefused) return failed(codes.restartRefused, "back off");
  if (error instanceof NoSystemd) return failed(codes.noSystemd, "back off");
  if (error instanceof NoAnswer || error instanceof SystemdError)
    return failed(codes.systemdUnknown, "back off");
  if (error instanceof FileError || (error instanceof Error && "syscall" in error))
    return failed(codes.fileFailed, "back off");
  return failed(codes.unforeseen, "back off");
}

export type Log = (
  fields: Readonly<Record<string, string | number | boolean>>,
  line: string,
) => void;

/** Logs each event. `help` is the address of the page that explains the line's code. */
export function openLog(node: string): Log {
  const logger = openNodeLog(node);
  return (fields, line) => logger.info({ ...fields, help: helpIn(line) }, line);
}

const minute = 60_000;
/** Actions, not states. These are logged whenever the limit allows it, however often they occur. */
const actions: ReadonlySet<Step["action"]> = new Set(["restart", "leave"]);
/**
 * Steps that achieve something, or show that all is well. After such a step, a state that was
 * logged earlier counts as new.
 */
const achievements: ReadonlySet<Step["action"]> = new Set([...actions, "nothing", "record"]);
/** Lines that can be logged at once: three rollouts with a dozen lines each, and a few more. */
const burst = 40;
/**
 * A state that returns within this time is not new. Without this rule, an operation that is tried
 * every 30 s and fails for hours would fill the log.
 */
const remembered = 10 * minute;

/**
 * Decides which steps are logged. A lasting state is always logged, even after months. A flapping
 * state costs at most 100 lines an hour.
 */
export class LogLimiter {
  readonly #clock: () => number;
  /** Saved milliseconds, up to `burst` minutes. Each line costs one minute. */
  #saved = burst * minute;
  #looked: number;
  /** Code → when it was logged. */
  readonly #logged = new Map<Code, number>();
  #present: { code: Code | undefined; since: number } = { code: undefined, since: 0 };
  #last: { code: Code | undefined; line: string; at: number } = {
    code: undefined,
    line: "",
    at: 0,
  };

  /** `clock`: milliseconds that never jump. */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#looked = clock();
  }

  /**
   * Whether to log the step as this line. If so, the line counts as logged. If a code lasts for a
   * minute, the newest line in the log shows it.
   */
  admits({ action, code }: Pick<Step, "action" | "code">, line: string): boolean {
    const now = this.#clock();
    this.#saved = Math.min(burst * minute, this.#saved + now - this.#looked);
    this.#looked = now;
    if (this.#present.code !== code) this.#present = { code, since: now };
    const worth = actions.has(action) || this.#isNew(code, line, now);
    if (!worth || this.#saved < minute) return false;
    this.#saved -= minute;
    if (achievements.has(action)) this.#logged.clear();
    this.#logged.set(code, now);
    this.#last = { code, line, at: now };
    return true;
  }

  #isNew(code: Code, line: string, now: number): boolean {
    const { since } = this.#present;
    const last = this.#last;
    // Only the detail differs, such as the size of a growing file.
    if (last.code === code) return last.line !== line && now - last.at >= minute;
    const logged = this.#logged.get(code);
    return logged === undefined || now - logged >= remembered || now - since >= minute;
  }
}

/**
 * Reports steps. The readiness changes at once. The log and the termination message change only
 * when there is something new.
 */
import { SystemdError, NoAnswer, NoSystemd, RestartRefused } from "../systemd/connection.ts";
import { describe } from "../files/errno.ts";
import { messageOf, type MessageKind } from "#contract/termination-message.ts";
import { grantedRevision, type Observed, reportedKey } from "../facts/grant.ts";
import type { Readiness } from "./readiness.ts";
import { codes, type Code, formatLine, type Step, wait } from "../facts/step.ts";
import { FileChanged, FileError } from "../files/atomic-write.ts";
import { openNodeLog } from "#runtime/log.ts";
import { helpIn } from "#contract/help.ts";

export class Status {
  #readiness: Readiness;
  #text = "";
  readonly #limiter: LogLimiter;
  readonly #log: Log;
  readonly #writeMessage: (line: string) => void;

  /** `writeMessage` replaces the termination message. `clock`: milliseconds that never jump. */
  constructor(log: Log, writeMessage: (line: string) => void, clock: () => number) {
    this.#log = log;
    this.#writeMessage = writeMessage;
    this.#limiter = new LogLimiter(clock);
    const line = formatLine(codes.incomplete, "starting");
    this.#readiness = { ready: false, code: codes.incomplete, line };
  }

  get readiness(): Readiness {
    return this.#readiness;
  }

  /**
   * Reports a step before it is executed. `LogLimiter` decides whether the step is logged. Throws
   * if a report to the controller cannot be written. Then the step must not be executed.
   */
  report(step: Step, observed: Observed): void {
    const line = formatLine(step.code, step.detail);
    const revision = revisionOf(observed);
    const signed = `${line} (revision ${revision})`;
    // A step that only writes a record ends at once, and the next step sets the readiness. The
    // readiness must not change in between.
    if (step.again !== 0 || step.action !== "record")
      this.#readiness = { ready: step.ready, code: step.code, line: signed };
    if (this.#limiter.admits(step, line))
      this.#log({ revision, action: step.action, code: step.code, ready: step.ready }, line);
    const kind = kindOf(step);
    const text = step.ready ? "" : withReport(signed, kind, step, observed);
    if (text === this.#text) return;
    try {
      this.#writeMessage(text);
      this.#text = text;
    } catch (error) {
      // A lost line for administrators does no harm. A report to the controller must not be lost,
      // because the controller waits for it.
      if (kind !== undefined) throw error;
    }
  }

  /** Logs the result of an action, such as the result of a systemd job. */
  done(step: Step, outcome: string | undefined, observed: Observed): void {
    const revision = revisionOf(observed);
    if (outcome !== undefined)
      this.#log({ revision, action: step.action, code: step.code }, outcome);
  }
}

/** The revision of a line: the granted revision, or without a grant the node's own. */
function revisionOf({ grant, journal }: Observed): number {
  return grantedRevision(grant) || journal;
}

/** The kind of report about the grant, if the step ends the container to make a report. */
function kindOf(step: Step): MessageKind | undefined {
  return step.action === "give up" ? "failed" : step.action === "end" ? step.report : undefined;
}

/** The termination message: the line, with a report of this kind if there is a grant. */
function withReport(
  line: string,
  kind: MessageKind | undefined,
  step: Step,
  observed: Observed,
): string {
  const key = reportedKey(observed);
  if (kind === undefined || key === undefined) return line;
  const journal = "journal" in step ? step.journal.revision : observed.journal;
  return messageOf(line, { kind, key, journal });
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
const actions: ReadonlySet<Step["action"]> = new Set(["restart", "leave", "give up", "end"]);
/**
 * Steps that achieve something. After such a step, a state that was logged earlier counts as new.
 */
const achievements: ReadonlySet<Step["action"]> = new Set([...actions, "record"]);
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
  /** State → when it was logged. At most two states per code. */
  readonly #logged = new Map<string, number>();
  #present = { state: "", since: 0 };
  #last = { state: "", line: "", at: 0 };

  /** `clock`: milliseconds that never jump. */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#looked = clock();
  }

  /**
   * Whether to log the step as this line. If so, the line counts as logged. If a code and a
   * readiness last for a minute, the newest line in the log shows both.
   */
  admits({ action, code, ready }: Pick<Step, "action" | "code" | "ready">, line: string): boolean {
    const now = this.#clock();
    this.#saved = Math.min(burst * minute, this.#saved + now - this.#looked);
    this.#looked = now;
    const state = `${code} ${ready}`;
    if (this.#present.state !== state) this.#present = { state, since: now };
    const worth = actions.has(action) || this.#isNew(state, line, now);
    if (!worth || this.#saved < minute) return false;
    this.#saved -= minute;
    if (ready || achievements.has(action)) this.#logged.clear();
    this.#logged.set(state, now);
    this.#last = { state, line, at: now };
    return true;
  }

  #isNew(state: string, line: string, now: number): boolean {
    const { since } = this.#present;
    const last = this.#last;
    // Only the detail differs, such as the size of a growing file.
    if (last.state === state) return last.line !== line && now - last.at >= minute;
    const logged = this.#logged.get(state);
    return logged === undefined || now - logged >= remembered || now - since >= minute;
  }
}

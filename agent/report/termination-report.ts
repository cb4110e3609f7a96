/**
 * The reports that the agent makes by ending its container, because no other process can forge the
 * container's exit code and termination message. A report states that the node has proved its
 * grant, has failed, is unfit, already has newer content, or has removed all entries. In contrast,
 * any local process can forge our readiness.
 *
 * The agent makes each report once. Right before the end, it writes a mark into the pod's
 * own directory. The next process finds the mark, removes it, and does not repeat the report. If
 * the container ended without a mark, the next process makes the report again.
 *
 * The agent never refuses a grant that it has proved. If a problem comes after the proof, such as
 * an unreadable config.json, the agent is NotReady until the problem is over. A refusal would last
 * as long as the grant.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exitCodes } from "#contract/names.ts";
import type { MessageKind } from "#contract/termination-message.ts";
import { hasCode } from "../files/errno.ts";
import { granted, grantedKey, type Observed, reportedKey } from "../facts/grant.ts";
import { codes, atOnce, type Step } from "../facts/step.ts";

/**
 * Milliseconds. A shorter refusal does not end the container, because the reason might disappear.
 */
const refusalLasts = 10_000;

/** The report of a pod without a grant about the grant of an earlier pod. */
const predecessor = {
  code: codes.rolledBack,
  detail: "an earlier pod began the change",
} as const;

const exits: Readonly<Record<MessageKind, number>> = {
  proved: exitCodes.done,
  released: exitCodes.done,
  failed: exitCodes.gaveUp,
  unfit: exitCodes.refused,
  behind: exitCodes.refused,
};

type Marks = {
  refused: string | undefined;
  proved: string | undefined;
  /** The report that the last process made. */
  reported: string | undefined;
};

export class TerminationReport {
  readonly #file: string;
  readonly #clock: () => number;
  readonly #marks: Marks;
  /** The grant that is being refused, and since when. */
  #refusal: Readonly<{ key: string; since: number }> | undefined;

  /** `directory`: the pod's own. `clock`: milliseconds that never jump. */
  constructor(directory: string, clock: () => number) {
    this.#file = join(directory, "report");
    this.#clock = clock;
    this.#marks = readMarks(this.#file);
    if (this.#marks.reported === undefined) return;
    try {
      this.#write({ ...this.#marks, reported: undefined });
    } catch {
      // The mark stays, so the agent does not repeat the report after a crash.
    }
  }

  /** Key of the grant that this pod has refused. The refusal is final. */
  get refused(): string | undefined {
    return this.#marks.refused;
  }

  /** Key of the grant with which this pod was Ready, or whose release it has confirmed. */
  get proved(): string | undefined {
    return this.#marks.proved;
  }

  /**
   * Returns the step, or a step that ends the container if a report is due. The agent reports
   * `released` and `proved` before it turns Ready for the first time.
   */
  orEnd(step: Step, observed: Observed): Step {
    const key = grantedKey(observed.grant);
    const isProved = step.ready && (observed.fulfilled || step.code === codes.withdrawn);
    if (key !== undefined && isProved) this.#prove(key);
    const refuses = key !== undefined && "refused" in step && key !== this.#marks.proved;
    const isSame = this.#refusal?.key === key;
    if (!refuses) this.#refusal = undefined;
    else if (!isSame) this.#refusal = { key, since: this.#clock() };
    const due = dueFor(step, observed);
    if (due !== undefined && !this.#isReported(due, observed))
      return end(key === undefined ? { ...step, ...predecessor } : step, due);
    if (this.#refusal === undefined || this.#isReported("unfit", observed)) return step;
    const remaining = this.#refusal.since + refusalLasts - this.#clock();
    if (remaining <= 0) return end(step, "unfit");
    return step.again === "back off" ? step : { ...step, again: Math.min(step.again, remaining) };
  }

  /**
   * Marks the report as made. Call it after the termination message is written, right before the
   * end. If the agent is killed earlier, there is no mark, and the next container makes the report.
   * Throws if the mark cannot be written, and then the container does not end. For a refusal, the
   * agent does not try again, but continues to report the reason.
   */
  mark(kind: MessageKind, observed: Observed): void {
    const key = reportedKey(observed);
    // The agent does not report the failure of content that the node took without a grant.
    if (key === undefined) return;
    const reported = `${kind} ${key}`;
    if (kind === "unfit") Object.assign(this.#marks, { refused: key, reported });
    this.#write({ ...this.#marks, reported });
    this.#marks.reported = reported;
  }

  #prove(key: string): void {
    if (this.#marks.proved === key) return;
    this.#marks.proved = key;
    try {
      this.#write({ ...this.#marks, reported: undefined });
    } catch {
      // This process still has the mark in memory.
    }
  }

  #isReported(kind: MessageKind, observed: Observed): boolean {
    return this.#marks.reported === `${kind} ${reportedKey(observed)}`;
  }

  /** Writes the whole file, so that the file does not grow with each grant. */
  #write(marks: Marks): void {
    const lines = Object.entries(marks).flatMap(([name, mark]) =>
      mark ? [`${name} ${mark}\n`] : [],
    );
    writeFileSync(this.#file, lines.join(""), { mode: 0o600 });
  }
}

/** The report that is due immediately in this state. */
function dueFor(step: Step, observed: Observed): MessageKind | undefined {
  const { grant, fulfilled } = observed;
  const activeGrant = granted(grant);
  if (activeGrant === undefined)
    return step.action === "nothing" && reportedKey(observed) !== undefined ? "failed" : undefined;
  if (step.ready && step.code === codes.withdrawn) return "released";
  if ("report" in step && step.action !== "end") return step.report;
  return activeGrant.word && fulfilled && step.ready ? "proved" : undefined;
}

function end({ code, detail }: Step, report: MessageKind): Step {
  return atOnce({ action: "end", code, detail, exit: exits[report], report });
}

function readMarks(file: string): Marks {
  const marks: Marks = { refused: undefined, proved: undefined, reported: undefined };
  for (const line of linesOf(file)) {
    const [, name, mark] = /^(refused|proved|reported) (.+)$/.exec(line) ?? [];
    if (name !== undefined && mark !== undefined) marks[name as keyof Marks] = mark;
  }
  return marks;
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "latin1").split("\n").filter(Boolean);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** Reports steps: readiness at once, the log and the termination message when there is news. */
import { SystemdError, CouldNotAsk, NoSystemd, RestartRefused } from "../systemd/connection.ts";
import { describe } from "../files/errno.ts";
import { messageOf, type WordKind } from "#contract/word.ts";
import { grantedRevision, type Seen, spokenKey } from "../facts/grant.ts";
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
  readonly #leaveWord: (line: string) => void;

  /** `leaveWord` replaces the termination message; `clock`: milliseconds that never jump. */
  constructor(log: Log, leaveWord: (line: string) => void, clock: () => number) {
    this.#log = log;
    this.#leaveWord = leaveWord;
    this.#news = new News(clock);
    const line = say(codes.incomplete, "starting");
    this.#readiness = { ready: false, code: codes.incomplete, line };
  }

  get readiness(): Readiness {
    return this.#readiness;
  }

  /**
   * Reports a step before it is done; in the log where it is news (news.ts). Throws where a word
   * cannot be left: the step must not be done then.
   */
  report(step: Step, seen: Seen): void {
    const line = say(step.code, step.detail);
    const revision = revisionOf(seen);
    const signed = `${line} (revision ${revision})`;
    // A record is over at once, and its successor sets the readiness: it must not flicker between.
    if (step.again !== 0 || step.action !== "record")
      this.#readiness = { ready: step.ready, code: step.code, line: signed };
    if (this.#news.take(step, line))
      this.#log({ revision, action: step.action, code: step.code, ready: step.ready }, line);
    const kind = wordIn(step);
    const word = step.ready ? "" : withWord(signed, kind, step, seen);
    if (word === this.#word) return;
    try {
      this.#leaveWord(word);
      this.#word = word;
    } catch (error) {
      // A line for people is no reason to fail. A word is what the controller waits for.
      if (kind !== undefined) throw error;
    }
  }

  /** Logs what an action returned, such as a job's result. */
  done(step: Step, outcome: string | undefined, seen: Seen): void {
    const revision = revisionOf(seen);
    if (outcome !== undefined)
      this.#log({ revision, action: step.action, code: step.code }, outcome);
  }
}

/** The revision that a line is about: the granted one, without a grant the node's own. */
function revisionOf({ grant, journal }: Seen): number {
  return grantedRevision(grant) || journal;
}

/** What the end says of the grant, if it does. */
function wordIn(step: Step): WordKind | undefined {
  return step.action === "give up" ? "failed" : step.action === "end" ? step.word : undefined;
}

/** The termination message: the line, and the word of this kind, if it is about a grant. */
function withWord(line: string, kind: WordKind | undefined, step: Step, seen: Seen): string {
  const key = spokenKey(seen);
  if (kind === undefined || key === undefined) return line;
  const journal = "journal" in step ? step.journal.revision : seen.journal;
  return messageOf(line, { kind, key, journal });
}

/** An error as a step: nothing is changed, and it is tried again. */
export function trouble(error: unknown): Step {
  const failed = (code: Code, again: Step["again"]) => wait(code, again, describe(error));
  if (error instanceof FileChanged) return failed(codes.changedMeanwhile, 100);
  if (error instanceof RestartRefused) return failed(codes.restartRefused, "back off");
  if (error instanceof NoSystemd) return failed(codes.noSystemd, "back off");
  if (error instanceof CouldNotAsk || error instanceof SystemdError)
    return failed(codes.systemdUnknown, "back off");
  if (error instanceof FileError || (error instanceof Error && "syscall" in error))
    return failed(codes.fileFailed, "back off");
  return failed(codes.unforeseen, "back off");
}

/**
 * Asks the registries in the background and remembers their answers, so that no run waits for a
 * registry. Each question is asked when it is new, and then again at an interval.
 */
import { askAll } from "#registry/ask.ts";
import {
  isDefinite,
  questionsOf,
  type Answers,
  type Plan,
  type Question,
  type Verdict,
} from "#registry/question.ts";

export type Verifier = Readonly<{
  /** The answers so far. Begins to ask what is due. */
  look: (plan: Plan, intervalSeconds: number) => (question: Question) => Answers | undefined;
}>;

type Options = Readonly<{
  /** Called when new answers are there. */
  hint: () => void;
  now: () => Date;
  /** A clock that never goes back, in seconds. */
  seconds: () => number;
  ask?: typeof askAll;
}>;

type Known = Readonly<{
  answers: Answers;
  /** Whether the last answer was Accepted. An earlier answer can be in `answers`. */
  accepts: boolean;
  /** When it was asked, in seconds. */
  asked: number;
  /** The factor of the pause until it is asked again. */
  jitter: number;
}> & { used: number };

/**
 * The most seconds until a question is asked again that was not answered with Accepted: the
 * registry may answer again, or an account may have got its right. More often, a directory could
 * lock an account whose password is wrong. After as long, an answer that no run has used is
 * forgotten: a credential that comes back may have been revoked. A run uses each answer every six
 * minutes.
 */
const impatientSeconds = 600;

export function openVerifier({ hint, now, seconds, ask = askAll }: Options): Verifier {
  const known = new Map<string, Known>();
  const asking = new Set<string>();

  async function run(questions: readonly Question[]): Promise<void> {
    for (const { id } of questions) asking.add(id);
    const answered = await ask(questions);
    // All questions of one run stay together, and the runs of many clusters spread.
    const jitter = 0.9 + 0.2 * Math.random();
    const [asked, at] = [seconds(), now().toISOString()];
    for (const [{ id }, answers] of answered) {
      asking.delete(id);
      const before = known.get(id)?.answers;
      const stays = before !== undefined && areDefinite(before) && !areDefinite(answers);
      const latest = answers.map((verdict) => dated(verdict, at));
      const accepts = answers.at(-1)?.answer === "Accepted";
      known.set(id, { answers: stays ? before : latest, accepts, asked, jitter, used: asked });
    }
    hint();
  }

  return {
    look(plan, intervalSeconds) {
      const time = seconds();
      for (const [id, { used }] of known) if (time - used > impatientSeconds) known.delete(id);
      const due = questionsOf(plan).filter(({ id }) => {
        const last = known.get(id);
        if (last !== undefined) last.used = time;
        return !asking.has(id) && (last === undefined || dueOf(last, intervalSeconds) <= time);
      });
      if (due.length > 0) void run(due);
      return ({ id }) => known.get(id)?.answers;
    },
  };
}

const dated = (verdict: Verdict, at: string): Verdict =>
  verdict.answer === "Unknown" ? verdict : { ...verdict, at };

function dueOf({ accepts, asked, jitter }: Known, intervalSeconds: number): number {
  return asked + (accepts ? intervalSeconds : Math.min(intervalSeconds, impatientSeconds)) * jitter;
}

/** A registry that gives no answer now does not change what it answered before. */
const areDefinite = (answers: Answers) => answers.every(isDefinite);

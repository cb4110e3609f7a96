/** Facts for the tables of decisions: a node for which revision 7 is mounted, in all its states. */
import assert from "node:assert/strict";
import { keyOf, type Order } from "#contract/order.ts";
import { decide as answer } from "../decide/decide.ts";
import { type Facts, unasked as nothingAsked } from "./facts.ts";
import { firstJournal, type Journal, ownsNoAnswer } from "../journal/journal.ts";
import { foundOf } from "../delivery/config-json/plan.ts";
import type { Document } from "../delivery/mount.ts";
import type { FoundFile, NodeFile } from "../delivery/delivery.ts";
import type { Answer, Question, Step } from "./step.ts";
import type { Unit } from "../systemd/unit.ts";
import { emptyDocument, readDocument } from "../delivery/config-json/document.ts";

export const hour = 3_600_000;
export const now = 1_000 * hour;
export const absent = foundOf({ kind: "absent", identity: "absent", document: emptyDocument });
export const mounted: Document = {
  kind: "document",
  revision: 7,
  digest: "seven's",
  content: "seven",
  desired: {
    entries: new Map([["a.io", { value: { auth: "dTpw" }, original: false }]]),
    rest: new Map(),
  },
  intent: "apply",
};
export const withdrawn: Document = {
  ...mounted,
  content: "none",
  desired: { entries: new Map(), rest: new Map() },
  intent: "release",
};

/** Nothing is ordered, and nothing is served. */
export const nothingMounted = { kind: "nothing" } as const;
export const unordered = { order: "none", mounted: nothingMounted } as const;
/** Nothing is ordered, but revision 7 is served. */
export const unasked = { order: "none", mounted: { ...mounted, served: true } } as const;

export const seven: Order = { revision: 7, digest: "seven's", attempt: 1_764_416_000 };
export const key = keyOf(seven);

export const unit: Unit = {
  name: "kubelet.service",
  load: "loaded",
  active: "active",
  sub: "running",
  invocation: "old",
  busy: false,
  mainPid: 1,
  started: 0,
  restarts: 0,
  result: "success",
  refuses: false,
  startLimit: 10_000,
  restartDelay: 100,
};
export const renewed: Unit = { ...unit, invocation: "new" };
export const crashed: Unit = {
  ...unit,
  active: "activating",
  sub: "auto-restart",
  invocation: "new",
  mainPid: 0,
  result: "exit-code",
};
export const stopped: Unit = { ...unit, active: "inactive", sub: "dead", mainPid: 0 };
export const limited: Unit = {
  ...unit,
  active: "failed",
  sub: "failed",
  mainPid: 0,
  result: "start-limit-hit",
};
/** --restart Never: systemd is not asked. */
export const notAsked = { notAsked: true } as const;
export const unanswered = { unknown: "connect ECONNREFUSED" };

const planned = absent.plan(undefined, mounted, false);
const ours = {
  kind: "file",
  identity: "1",
  bytes: Buffer.from('{"auths":{"a.io":{"auth":"dTpw"}}}'),
  mode: 0o600,
  document: { auths: new Map([["a.io", { auth: "dTpw" }]]), rest: new Map() },
  digest: "1",
} as const;
export const written = foundOf(ours);
export const foreign = (invalid?: string): FoundFile =>
  foundOf({ ...ours, document: emptyDocument, bytes: Buffer.from("{"), invalid });

export const idle: Journal = {
  ...firstJournal({ absent: true }),
  revision: 7,
  digest: "seven's",
  content: "seven",
  unit: "kubelet.service",
  owned: planned.owned,
};
const nothingOwned = { entries: [], rest: [] };
const undo = { file: { absent: true as const }, owned: nothingOwned, revision: 0, content: "" };
export const restarting: Journal = {
  ...idle,
  phase: "restarting",
  owed: "old",
  undo,
  matters: true,
  grant: key,
};
export const tried = (count: number, ago: number): Journal => ({
  ...restarting,
  tried: count,
  called: true,
  calls: [now - ago],
});
export const settling: Journal = {
  ...tried(1, 2000),
  phase: "settling",
  settling: { invocation: "new", restarts: 0 },
};
export const quarantine = {
  revision: 7,
  content: "seven",
  failures: 1,
  since: now - 60_000,
  lasts: 600_000,
  told: true,
  grant: key,
};
export const rolledBack: Journal = { ...firstJournal({ absent: true }), quarantine };
/** The failed content was served, not ordered. */
export const rolledBackUnasked: Journal = {
  ...rolledBack,
  quarantine: { ...quarantine, grant: undefined },
};
/**
 * After a rollback: the file is restored, but the kubelet has not passed its new probation yet.
 */
export const reviving: Journal = {
  ...rolledBack,
  phase: "reviving",
  unit: "kubelet.service",
  owed: "old",
  quarantine: { ...quarantine, told: false },
};
export const time = { boot: "b", monotonic: 1_000_000 };

export type FactsChange = Partial<Omit<Facts, "config" | "stopwatch" | "journal">> & {
  /** `revision` and `digest` replace those of the order. */
  config?: Partial<Facts["config"] & Readonly<{ revision: number; digest: string }>>;
  stopwatch?: Partial<Facts["stopwatch"]>;
  journal?: Journal | Facts["journal"];
};

export function facts({ config = {}, stopwatch, journal, order, ...rest }: FactsChange): Facts {
  const { revision = seven.revision, digest = seven.digest, ...flags } = config;
  const { lost = false } = rest;
  const plainJournal = journal !== undefined && !("kind" in journal) ? journal : undefined;
  return {
    order: order ?? { ...seven, revision, digest },
    config: {
      restart: "Always",
      probation: 5000,
      unit: "kubelet.service",
      healthzPort: 10248,
      healthzAddress: "auto",
      ...flags,
    },
    now,
    alone: true,
    elsewhere: undefined,
    mounted,
    newest: undefined,
    journal:
      journal === undefined
        ? { kind: "none" }
        : "kind" in journal
          ? (journal as Facts["journal"])
          : { kind: "journal", journal },
    vanished: false,
    time,
    lost,
    noAnswer: plainJournal === undefined ? !lost : ownsNoAnswer(plainJournal, lost),
    leftovers: false,
    file: written,
    unit,
    healthy: true,
    stopwatch: {
      file: 0,
      running: 0,
      healthy: 0,
      silent: 0,
      busy: 0,
      quarantine: 0,
      ...stopwatch,
    },
    writeIn: 0,
    restarts: 1,
    sinceRestart: Number.POSITIVE_INFINITY,
    unwritable: false,
    ...rest,
  };
}

/**
 * Decides with all facts, and checks that the agent decides the same when it collects only
 * requested facts.
 */
export function decide(all: Facts): Step {
  const step = stepOf(answer(all));
  assert.deepEqual(decideByQuestions(all).step, step, "the requested facts decide differently");
  return step;
}

/** Decides like the agent. Returns the requested facts, in order, and the step. */
export function decideByQuestions(
  all: Facts,
  gatheredFacts: Facts = {
    ...all,
    ...nothingAsked,
    stopwatch: { ...all.stopwatch, ...nothingAsked.stopwatch },
  },
  asked: readonly Question[] = [],
): Readonly<{ asked: readonly Question[]; step: Step }> {
  const answered = answer(gatheredFacts);
  if (answered.action !== "ask") return { asked, step: answered };
  assert.ok(!asked.includes(answered.for), "asked for what is known");
  return decideByQuestions(all, { ...gatheredFacts, ...answersTo(all, answered.for) }, [
    ...asked,
    answered.for,
  ]);
}

function answersTo(
  { mounted, newest, healthy, unit, stopwatch }: Facts,
  asked: Question,
): Partial<Facts> {
  if (asked === "mounted") return { mounted, newest };
  if (asked === "healthz") return { healthy };
  return { unit, healthy, stopwatch };
}

export function stepOf(answered: Answer): Step {
  assert.ok(answered.action !== "ask", "asked for what is known");
  return answered;
}

function fileAfter(step: Step, before: NodeFile): NodeFile {
  if (step.action !== "apply" && step.action !== "restore") return before;
  const { file, keepsConfig } = step.plan;
  if (keepsConfig) return before;
  if ("absent" in file) return absent;
  const reading = readDocument(file.bytes);
  assert.ok(reading.kind === "document");
  const { document, invalid } = reading;
  const digest = file.bytes.toString("base64");
  return foundOf({ kind: "file", identity: digest, ...file, document, invalid, digest });
}

/** Decides and executes one step after the other, until a step neither writes nor records. */
export function follow(
  change: FactsChange,
): Readonly<{ steps: readonly string[]; last: Step; end: Facts }> {
  const steps: string[] = [];
  for (let now = facts(change); ;) {
    const step = decide(now);
    steps.push(summaryOf(step));
    assert.ok(steps.length < 20, steps.join(", "));
    if (step.action === "clean")
      now = { ...now, leftovers: false, file: fileAfter(step, now.file) };
    else if (step.action === "leave")
      now = { ...now, journal: { kind: "none" }, leftovers: false, lost: false };
    else if (step.action === "restore") now = { ...now, file: fileAfter(step, now.file) };
    else if (step.action !== "apply" && step.action !== "record")
      return { steps, last: step, end: now };
    else
      now = {
        ...now,
        journal: { kind: "journal", journal: step.journal },
        noAnswer: ownsNoAnswer(step.journal, now.lost),
        file: fileAfter(step, now.file),
      };
  }
}

/** A step as text: `action CODE`, then `→ phase` if it has a journal, then its result. */
export function summaryOf(step: Step): string {
  const journal = "journal" in step ? ` → ${step.journal.phase}` : "";
  const result = "result" in step ? ` ${step.result}` : "";
  return `${step.action} ${step.code}${journal}${result}`;
}

type Row = readonly [when: string, facts: FactsChange, then: string];

export function check(rows: readonly Row[]): void {
  for (const [when, change, then] of rows)
    assert.equal(summaryOf(decide(facts(change))), then, when);
}

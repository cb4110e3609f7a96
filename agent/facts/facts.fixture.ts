/**
 * Facts for the tables of decisions: a node for which revision 7 is published, in all its states.
 */
import assert from "node:assert/strict";
import { keyOf, type Order } from "#contract/order.ts";
import { decide as answer } from "../decide/decide.ts";
import type { Contents } from "../delivery/contents.ts";
import type { Published } from "../delivery/mount.ts";
import type { NodeFile } from "../delivery/config-json/config-json.ts";
import { overlay } from "../delivery/config-json/overlay.ts";
import {
  type Content,
  type Entry,
  type File,
  firstJournal,
  type Journal,
  never,
  noContent,
  type Restarting,
  type Resting,
  type Reviving,
} from "../journal/journal.ts";
import type { Unit } from "../systemd/unit.ts";
import type { Facts, Healthz, UnitFact } from "./facts.ts";
import type { Step } from "./step.ts";

export const seven: Order = { revision: 7, digest: "seven's", attempt: 1_764_416_000 };
export const key = keyOf(seven);

/** An entry of ours with this password. */
export function entry(registry: string, password: string, original = false): Entry {
  const auth = Buffer.from(`u:${password}`).toString("base64");
  return { key: registry, raw: JSON.stringify({ auth }), original, place: "file" };
}

export function contentWith(revision: number, ...entries: readonly Entry[]): Content {
  return { revision, digest: `${revision}'s`, entries, rest: [] };
}

const content: Content = { ...contentWith(7, entry("a.io", "p")), digest: "seven's" };
const published: Published = { ...content, isRelease: false };
const six = contentWith(6, entry("a.io", "old"));
const former = { salt: "", digests: new Set<string>() };
export const contents: Extract<Contents, { kind: "contents" }> = {
  kind: "contents",
  newest: published,
  served: undefined,
  isOurMode: true,
  former,
};
export const served: Contents = { ...contents, served: published };
export const released: Contents = {
  ...contents,
  newest: { ...noContent, revision: 8, digest: "8's", isRelease: true },
};

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
};
const time = { boot: "b", monotonic: 1_000_000 };
/** Milliseconds before now, in this boot. */
export const ago = (milliseconds: number) => ({
  ...time,
  monotonic: time.monotonic - milliseconds,
});
/** A process that was started `age` milliseconds ago. */
export const renewed = (age = 1000): Unit => ({
  ...unit,
  invocation: "new",
  started: time.monotonic - age,
});
export const crashed: Unit = {
  ...renewed(),
  active: "activating",
  sub: "auto-restart",
  mainPid: 0,
  result: "exit-code",
};
export const stopped: Unit = { ...renewed(), active: "failed", sub: "failed", mainPid: 0 };
export const starting: Unit = { ...renewed(), active: "activating", sub: "start" };
export const unanswered = { unknown: "connect ECONNREFUSED" };

export const theirs: File = {
  bytes: Buffer.from('{"auths":{"team.io":{"auth":"dTp0ZWFt"}}}'),
  mode: 0o600,
};
export const idle: Resting = firstJournal(theirs, content);
export const before: Resting = firstJournal(theirs, six);
export const restarting: Restarting = {
  version: 4,
  theirs,
  content,
  hosts: "",
  written: ago(2000),
  phase: "restarting",
  order: key,
  back: six,
  unit: "kubelet.service",
  asked: ago(1500),
  old: "old",
  deaths: 0,
  restarts: 0,
};
export const reviving: Reviving = {
  version: 4,
  theirs,
  content: six,
  hosts: "",
  written: ago(2000),
  phase: "reviving",
  failed: key,
  unit: "kubelet.service",
  tries: 0,
  asked: never,
};

/** config.json with these bytes, or as the journal describes it. */
export function fileWith(file: File, unreadable?: string): NodeFile {
  return { kind: "file", file, identity: "as found", unreadable };
}

export type FactsChange = Partial<Omit<Facts, "config" | "journal" | "kubelet">> &
  Readonly<{
    config?: Partial<Facts["config"]>;
    journal?: Journal | Facts["journal"];
    unit?: UnitFact;
    healthz?: Healthz;
    isLeased?: boolean;
  }>;

/** All facts, also about the kubelet. The file is what the journal describes. */
export function facts(change: FactsChange): Facts {
  const { config, journal, unit: unitFact = unit, healthz = "answers", ...rest } = change;
  const { isLeased = false, ...others } = rest;
  const plain = journal !== undefined && "phase" in journal ? journal : undefined;
  return {
    config: {
      restart: "Always",
      probation: 5000,
      healthzPort: 10248,
      healthzAddress: "auto",
      scope: undefined,
      isRuntime: false,
      ...config,
    },
    order: seven,
    time,
    alone: true,
    elsewhere: undefined,
    contents,
    journal:
      plain !== undefined
        ? { kind: "journal", journal: plain }
        : ((journal as Facts["journal"] | undefined) ?? { kind: "none" }),
    vanished: false,
    leftovers: false,
    theirs: undefined,
    file: fileWith(plain === undefined ? theirs : overlay(plain.theirs, plain.content)),
    unchangedFor: 5000,
    installed: { answer: undefined, identity: "absent", rows: [], asked: false },
    runtime: undefined,
    kubelet: { unit: unitFact, healthz, isLeased },
    writeIn: 0,
    blocked: undefined,
    ...others,
  };
}

/** How soon the agent looks again, in milliseconds → the codes of its waits. */
const pauses: readonly (readonly [again: Step["again"], codes: string])[] = [
  [250, "GPS209 GPS213 GPS215"],
  [500, "GPS207"],
  [1000, "GPS202 GPS205 GPS206 GPS208 GPS221 GPS229 GPS230 GPS235 GPS236 GPS259 GPS271 GPS272"],
  [30_000, "GPS203 GPS204 GPS218 GPS222 GPS261"],
  ["back off", "GPS211 GPS231 GPS262"],
];
/** Waits that need no word in addition to the meaning of their code. */
const plain = "GPS205 GPS209 GPS215 GPS225";

function checkWait({ code, again, detail }: Step): void {
  const [pause] = pauses.find(([, codes]) => codes.includes(code)) ?? [again];
  assert.equal(again, pause, `${code} waits`);
  assert.ok(again === "back off" || (again > 0 && again <= 10_000) || pause === 30_000, code);
  assert.equal(detail === undefined, plain.includes(code), `${code} explains: ${detail}`);
}

/**
 * Decides, and checks what holds for each step: the agent decides the same if it asks the kubelet
 * only when needed, a wait has an end and a reason, a node at rest costs two rounds a minute, and a
 * new journal replaces the one that was read.
 */
export function decide(change: FactsChange): Step {
  const all = facts(change);
  const step = answer(all);
  const lazy = answer({ ...all, kubelet: undefined });
  assert.ok(step.action !== "ask", "asks for facts that it has");
  if (lazy.action !== "ask") assert.deepEqual(lazy, step, "the requested facts decide differently");
  if (step.action === "wait") checkWait(step);
  if (step.action === "nothing") assert.equal(step.again, 30_000);
  if (step.action === "commit" || step.action === "record" || step.action === "restart") {
    const { former } = step.action === "commit" ? step.commit : step;
    const present = all.journal.kind === "journal" ? all.journal.journal : undefined;
    assert.deepEqual(former, present, "does not replace the journal that it has read");
  }
  return step;
}

/** Action, code and result in one word each. */
export function brief(step: Step): string {
  const result = "result" in step ? ` ${step.result}` : "";
  return `${step.action} ${step.code}${result}`;
}

/** The journal that the step writes. */
export function journalOf(step: Step): Journal {
  if (step.action === "commit") return step.commit.journal;
  assert.ok(step.action === "record" || step.action === "restart", `${step.action} has no journal`);
  return step.journal;
}

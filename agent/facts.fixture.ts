/** Facts for the tables of decisions: a node where revision 7 is asked for, and the states that it may be in. */
import assert from "node:assert/strict";
import { decide } from "./decide.ts";
import type { Facts } from "./facts.ts";
import { firstJournal, type Journal } from "./journal.ts";
import type { NodeFile } from "./nodefile.ts";
import { type Document, plan } from "./plan.ts";
import type { Step } from "./step.ts";
import type { Unit } from "./unit.ts";
import { emptyDocument } from "./document.ts";

export const hour = 3_600_000;
export const now = 1_000 * hour;
export const absent: NodeFile = { kind: "absent", identity: "absent", document: emptyDocument };
export const mounted: Document = {
  kind: "document",
  revision: 7,
  content: "seven",
  wanted: { entries: new Map([["a.io", { value: { auth: "dTpw" }, original: false }]]), rest: new Map() },
  release: false,
};
export const withdrawn: Document = {
  ...mounted,
  content: "none",
  wanted: { entries: new Map(), rest: new Map() },
  release: true,
};

export const unit: Unit = {
  load: "loaded",
  active: "active",
  sub: "running",
  invocation: "old",
  busy: false,
  mainPid: 1,
  restarts: 0,
  result: "success",
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
export const limited: Unit = { ...unit, active: "failed", sub: "failed", mainPid: 0, result: "start-limit-hit" };
/** All that is asked before config.json is written. */
export const loaded = { load: "loaded" };
export const noBus = { unknown: "connect ENOENT" };

const planned = plan(absent, undefined, mounted, false);
export const written: NodeFile = {
  kind: "file",
  identity: "1",
  bytes: Buffer.from('{"auths":{"a.io":{"auth":"dTpw"}}}'),
  mode: 0o600,
  uid: 0,
  gid: 0,
  document: { auths: new Map([["a.io", { auth: "dTpw" }]]), rest: new Map() },
  digest: "1",
};
export const foreign = (healed?: string): NodeFile => ({
  ...written,
  document: emptyDocument,
  bytes: Buffer.from("{"),
  healed,
});

export const atRest: Journal = {
  ...firstJournal({ absent: true }),
  revision: 7,
  content: "seven",
  owned: planned.owned as Journal["owned"],
};
const nothingOwned = { entries: [], rest: [] };
const undo = { file: { absent: true as const }, owned: nothingOwned, revision: 0, content: "" };
export const restarting: Journal = { ...atRest, phase: "restarting", owed: "old", undo, matters: true };
export const tried = (count: number, ago: number): Journal => ({
  ...restarting,
  tried: count,
  called: true,
  calls: [now - ago],
});
export const settling: Journal = { ...tried(1, 2000), phase: "settling", settling: { invocation: "new", restarts: 0 } };
export const reviving: Journal = { ...restarting, phase: "reviving" };
export const quarantine = {
  revision: 7,
  content: "seven",
  failures: 1,
  since: now - 60_000,
  lasts: 600_000,
  told: true,
};
export const rolledBack: Journal = { ...firstJournal({ absent: true }), quarantine };

type Change = Partial<Omit<Facts, "config" | "steady" | "journal">> & {
  config?: Partial<Facts["config"]>;
  steady?: Partial<Facts["steady"]>;
  journal?: Journal | Facts["journal"];
};

export function facts({ config, steady, journal, ...rest }: Change): Facts {
  return {
    config: { revision: 7, restart: "Always", settle: 5000, unit: "kubelet.service", probePort: 20248, ...config },
    now,
    alone: true,
    mounted,
    journal:
      journal === undefined
        ? { kind: "none" }
        : "kind" in journal
          ? (journal as Facts["journal"])
          : { kind: "journal", journal },
    lost: false,
    left: false,
    file: written,
    unit,
    healthy: true,
    steady: { file: 0, running: 0, healthy: 0, quarantine: 0, ...steady },
    writeIn: 0,
    restarts: 1,
    ...rest,
  };
}

/** `action CODE`, `→ phase` of the journal that it writes, `ready`. */
function shown(step: Step): string {
  const journal = "journal" in step ? ` → ${step.journal.phase}` : "";
  return `${step.action} ${step.code}${journal}${step.ready ? " ready" : ""}`;
}

type Row = readonly [when: string, facts: Change, then: string];

export function check(rows: readonly Row[]): void {
  for (const [when, change, then] of rows) assert.equal(shown(decide(facts(change))), then, when);
}

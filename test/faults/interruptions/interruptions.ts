/**
 * The columns of the table in changes.ts: interruptions of a change, each at every point where it
 * can happen.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { nodeFiles } from "#contract/names.ts";
import type { Result } from "#contract/order.ts";
import { type AgentProcess, inTime } from "#test/harness/agent/agent.ts";
import { journalOf as nodeJournalOf } from "../phases.ts";
import type { AgentPlace } from "../place.ts";
import { nameOf, traced } from "../trace.ts";
import { before, begin, type Change, check, checkFiles, placeOf, wholeness } from "./changes.ts";
import { crashes, type Disk, isPartial } from "./disk.ts";
import {
  madeBy,
  isRepeated,
  type Point,
  pointsOf,
  recorded,
  type Request,
  signalAt,
} from "./points.ts";

/** A change that is interrupted at one point. */
export type Case = Readonly<{
  name: string;
  /** True if every run reaches the point. */
  sure: boolean;
  /** Resolves with true if the point was reached. Rejects if a check fails. */
  run: () => Promise<boolean>;
}>;

/** The change's code → the report at its end. A wait for the kubelet's reread has none. */
const results: Readonly<Record<string, Result>> = {
  GPS200: "Proved",
  GPS218: "Failed",
  GPS224: "Removed",
};

/** Codes that an agent logs at rest after the failure of its order was reported. */
const atRest = /"code":"GPS20[01]"/;

/**
 * Waits until the agent has logged the change's code and the change's result is reported. Returns
 * false if the agent has ended before.
 */
async function reachesCode(agent: AgentProcess, { node }: AgentPlace, change: Change) {
  const { code } = change;
  const result = results[code];
  const isOver = () => {
    const report = node.api?.reports.at(-1);
    if (result !== undefined && report?.result !== result) return false;
    if (code === "GPS254" && nodeJournalOf(node)?.content.revision !== node.order?.revision)
      return false;
    const isAnswered = result === "Failed" && atRest.test(agent.output);
    return agent.output.includes(`"code":"${code}"`) || isAnswered;
  };
  const hasEnded = () => agent.child.exitCode !== null || agent.child.signalCode !== null;
  assert.ok(
    await inTime(() => hasEnded() || isOver(), 60_000),
    `neither ${code} nor an end\n${agent.output.slice(-2000)}`,
  );
  return !hasEnded();
}

/** Runs the next agent until the change is complete. */
async function runNextAgent(place: AgentPlace, change: Change): Promise<void> {
  await using next = await begin(place, change);
  assert.ok(await reachesCode(next, place, change), `the agent ended\n${next.output}`);
}

/**
 * A disk after a power failure. `phase` is from the journal on this disk. `asked` is the number of
 * restarts that the agent had requested before the failure. `last` is true if the change was
 * complete.
 */
type State = Readonly<{
  disk: Disk;
  name: string;
  phase: string | undefined;
  asked: number;
  last: boolean;
}>;
/** The record of a run without an interruption. */
type Recorded = Readonly<{ points: readonly Point[]; states: readonly State[] }>;

async function record(change: Change): Promise<Recorded> {
  await using place = await placeOf(change);
  const { node, systemd } = place;
  const requests: Request[] = [];
  systemd.onCall = (name) => void requests.push({ at: Date.now() / 1000, name });
  const calls = await traced(
    node.root,
    recorded,
    (under) => begin(place, change, under),
    (agent) => reachesCode(agent, place, change),
  );
  check(place, change);
  const restarts = requests.filter(({ name }) => name === "RestartUnit");
  const all = crashes(calls, await before(change), node.kubelet);
  const end = all.at(-1)?.after;
  const states = all.map(({ disk, after }) => ({
    disk,
    name: `after ${nameOf(after)}`,
    phase: journalOf(disk).phase,
    asked: restarts.filter(({ at }) => at < after.at).length,
    last: after === end,
  }));
  // States that differ only in partial files count as one state.
  const key = ({ disk, asked, last }: State) =>
    JSON.stringify([asked, last, ...Array.from(disk).filter(([name]) => !isPartial(name))]);
  const distinct = new Map(states.toReversed().map((state) => [key(state), state]));
  return { points: pointsOf(node, calls, requests), states: [...distinct.values()].toReversed() };
}

type Journal = Readonly<{ phase?: string; written?: Readonly<{ boot: string }> }>;

/**
 * The journal that describes config.json on a disk: the staged journal, if the staged config.json
 * was renamed. An empty object if there is none, or its bytes were lost.
 */
function journalOf(disk: Disk): Journal {
  const staged = `${nodeFiles.folder}/commit.staged`;
  const isCommitted = !disk.has(`${nodeFiles.folder}/config.json.staged`) && disk.has(staged);
  const file = disk.get(isCommitted ? staged : nodeFiles.journal);
  if (file === undefined || file === "directory" || file.bytes.length === 0) return {};
  return JSON.parse(file.bytes.toString());
}

/** The disk with times of another boot in its journals. */
function ofFormerBoot(disk: Disk): Disk {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  const former = new Map(disk);
  for (const [name, file] of disk)
    if (file !== "directory") {
      const bytes = file.bytes.toString("latin1").replaceAll(boot, "former");
      former.set(name, { ...file, bytes: Buffer.from(bytes, "latin1") });
    }
  return former;
}

const records = new Map<Change, Promise<Recorded>>();

function recordOf(change: Change): Promise<Recorded> {
  const recording = records.get(change) ?? record(change);
  records.set(change, recording);
  return recording;
}

/** Sends the agent the signal at the point, and lets the next agent continue. */
async function signalled(change: Change, point: Point, signal: "KILL" | "TERM"): Promise<boolean> {
  const isWhole = await wholeness(change);
  await using place = await placeOf(change);
  const { node, systemd } = place;
  const broken: unknown[] = [];
  let received = 0;
  let callCount = 0;
  {
    await using agent = await begin(place, change, signalAt(node, point, signal));
    systemd.onCall = (name) => {
      received += Number(point.received && name === point.call);
      if (name === point.call && received === point.nth) agent.child.kill(`SIG${signal}`);
      try {
        isWhole(place);
      } catch (error) {
        broken.push(error);
      }
    };
    await reachesCode(agent, place, change);
    // Ends the agent, because the agent reaches the last points only while it ends.
    const ended = await agent.end("SIGTERM");
    if (ended === "SIGKILL") callCount = point.nth;
    else callCount = point.received ? received : await madeBy(agent, node, point);
    if (signal === "TERM") assert.equal(ended, 0);
  }
  isWhole(place);
  await runNextAgent(place, change);
  if (broken.length > 0) throw broken[0];
  check(place, change);
  assert.ok(
    callCount >= point.nth || (callCount > 0 && isRepeated(point)),
    `made ${callCount} times`,
  );
  return callCount >= point.nth;
}

/** Boots the node with the disk that a power failure left. */
async function booted(change: Change, state: State): Promise<boolean> {
  const { phase, asked, last } = state;
  const isWhole = await wholeness(change);
  await using place = await placeOf(change, { disk: ofFormerBoot(state.disk) });
  isWhole(place);
  // The agent had reported its result before the failure, so the files must be durable.
  if (last) checkFiles(place, change);
  const isUndone = phase === "reviving" || asked === change.restarts;
  const completed = isUndone ? change : (change.unbroken ?? change);
  // The kubelet has read the file at its start after the boot, so it needs no answer any more.
  const hasRead = change.code === "GPS254" && Boolean(journalOf(state.disk).written?.boot);
  const read = { code: "GPS200", ...(completed.answer && { answer: {} }) } as const;
  const end: Change = hasRead ? { ...completed, ...read } : completed;
  await runNextAgent(place, end);
  // The start of the kubelet at boot counts as the owed restart only if the journal shows that the
  // file was in place before the boot.
  const proves = phase === "restarting" || phase === "reviving";
  check(place, end, proves || asked === change.restarts ? 0 : 1);
  return true;
}

/**
 * Runs the change while systemd hangs up after the agent's message with this number. Returns the
 * number of all messages, and the number of messages before the restart.
 */
async function hungUp(change: Change, message = Infinity): Promise<Record<"all" | "sure", number>> {
  await using place = await placeOf(change, { cut: "hangs up" });
  const { relay, systemd } = place;
  if (relay === undefined) throw new Error("no relay");
  relay.cutAfter = message;
  let sure = 0;
  systemd.onCall = (name) => void (sure = name === "RestartUnit" ? relay.passed : sure);
  await runNextAgent(place, change);
  check(place, change);
  return { all: relay.passed, sure };
}

/** Selects renames and restarts, so that every phase of the journal has a point. */
const isTurn = ({ call }: Point) => call === "rename" || call === "RestartUnit";

const killed = async (change: Change) =>
  (await recordOf(change)).points.map((point) => ({
    name: point.name,
    sure: !isRepeated(point),
    run: () => signalled(change, point, "KILL"),
  }));

const ended = async (change: Change) =>
  (await recordOf(change)).points.filter(isTurn).map((point) => ({
    name: point.name,
    sure: !isRepeated(point),
    run: () => signalled(change, point, "TERM"),
  }));

const rebooted = async (change: Change) =>
  (await recordOf(change)).states.map((state) => ({
    name: state.name,
    sure: true,
    run: () => booted(change, state),
  }));

/**
 * Every run sends at least this many messages before the restart. How often the agent reads systemd
 * again depends on the time that a change takes: 14 to 38 messages in a dozen runs.
 */
const always = 10;

async function cutOff(change: Change): Promise<Case[]> {
  const { all, sure } = await hungUp(change);
  assert.ok(sure >= always, `${sure} messages before the restart`);
  return Array.from({ length: all }, (_, index) => ({
    name: `message ${index + 1}`,
    sure: index < always,
    run: async () => (await hungUp(change, index + 1)).all > index,
  }));
}

export type Interruption = Readonly<{
  when: string;
  /** Returns all cases of a change, in the order of their points. */
  casesOf: (change: Change) => Promise<readonly Case[]>;
  /** Selects the changes that are interrupted like this. Default: all. */
  of?: (change: Change) => boolean;
}>;

const isPlain = ({ answer, before, breaks, restarts }: Change) =>
  restarts > 0 && !answer && !before && !breaks;

export const interruptions = {
  killed: { when: "the agent is killed", casesOf: killed },
  ended: { when: "the agent gets SIGTERM", casesOf: ended },
  rebooted: { when: "the node loses its power and boots", casesOf: rebooted },
  cutOff: { when: "systemd hangs up", casesOf: cutOff, of: isPlain },
} satisfies Record<string, Interruption>;

/**
 * Runs the cases, three at a time, because agents mostly wait. Fails at the end, with a list, if
 * cases have failed, or if more than `most` cases did not reach their point.
 */
export async function runAll(
  t: TestContext,
  cases: readonly Case[],
  most = cases.length / 2,
): Promise<void> {
  const begun = performance.now();
  const missed: string[] = [];
  const broken: string[] = [];
  const rest = cases.values();
  const work = async () => {
    for (const { name, run } of rest)
      try {
        if (!(await run())) missed.push(name);
      } catch (error) {
        broken.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
      }
  };
  await Promise.all([work(), work(), work()]);
  const seconds = Math.round((performance.now() - begun) / 1000);
  t.diagnostic(`${cases.length} points, ${seconds} s, not met: ${missed.join(", ") || "none"}`);
  assert.ok(broken.length === 0, broken.join("\n\n"));
  assert.ok(missed.length <= most, `${missed.length} of ${cases.length} were not met`);
}

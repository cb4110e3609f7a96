/** Ways in which a change may be interrupted, each at every point where it can be. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { nodeFiles } from "#contract/names.ts";
import { type AgentProcess, inTime, isAnswer } from "../agent.ts";
import type { AgentPlace } from "../place.ts";
import { nameOf, traced } from "../trace.ts";
import { before, begin, type Change, check, placeOf, wholeness } from "./changes.ts";
import { crashes, type Disk } from "./disk.ts";
import {
  madeBy,
  mayFallShort,
  type Point,
  pointsOf,
  recorded,
  type Request,
  signalAt,
} from "./points.ts";

/**
 * A change that is interrupted at one point. `run` answers whether the point was met, and rejects
 * if anything is not as it must be.
 */
export type Case = Readonly<{ name: string; run: () => Promise<boolean> }>;

export type Interruption = (change: Change) => Promise<readonly Case[]>;

/** With what an agent ends by itself to tell how the change ended. */
const ends: Readonly<Record<string, number>> = { GPS219: 1, GPS224: 0 };

/** Waits until the agent shows how the change ended, or has ended; answers whether it shows it. */
async function settles(agent: AgentProcess, { code }: Change): Promise<boolean> {
  let shows = false;
  const wanted = code === "GPS219" || code === "GPS254" ? "5nn" : 200;
  const over = async () => {
    if (agent.child.exitCode !== null || agent.child.signalCode !== null) return true;
    const { status, body } = await agent.probe();
    shows = isAnswer(wanted, status, body) && body.includes(code);
    return shows;
  };
  assert.ok(await inTime(over, 60_000), `neither ${code} nor an end\n${agent.output}`);
  return shows;
}

/** Runs the next agent until it shows how the change ended, and one more if it ends to tell it. */
async function carryOn(place: AgentPlace, change: Change): Promise<void> {
  const { code } = change;
  for (let lives = Object.hasOwn(ends, code) ? 2 : 1; lives > 0; lives -= 1) {
    await using next = await begin(place, change);
    if (await settles(next, change)) return;
    assert.equal(
      await next.ended(),
      ends[code],
      `it ended before it showed ${code}\n${next.output}`,
    );
  }
  assert.fail(`never ${code}`);
}

/**
 * What the power may leave. `phase`: of the journal; `asked`: restarts until then; `last`: the
 * change is over.
 */
type State = Readonly<{ disk: Disk; name: string; phase: string; asked: number; last: boolean }>;
/** A change that nothing interrupts. */
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
    (agent) => settles(agent, change),
  );
  check(place, change);
  const restarts = requests.filter(({ name }) => name === "RestartUnit");
  const all = crashes(calls, await before(change), node.kubelet);
  const end = all.at(-1)?.after;
  const states = all.map(({ disk, after }) => ({
    disk,
    name: `after ${nameOf(after)}`,
    phase: String(journalOf(disk)?.["phase"]),
    asked: restarts.filter(({ at }) => at < after.at).length,
    last: after === end,
  }));
  // What is staged is swept in any case, as an agent that is killed shows.
  const key = ({ disk, asked, last }: State) =>
    JSON.stringify([
      asked,
      last,
      ...Array.from(disk).filter(([name]) => !name.includes(".staged")),
    ]);
  const distinct = new Map(states.toReversed().map((state) => [key(state), state]));
  return { points: pointsOf(node, calls, requests), states: [...distinct.values()].toReversed() };
}

/** The journal on a disk; undefined if there is none, or it is torn. */
function journalOf(disk: Disk): Record<string, unknown> | undefined {
  const file = disk.get(nodeFiles.journal);
  if (file === undefined || file === "directory" || file.bytes.length === 0) return undefined;
  return JSON.parse(file.bytes.toString());
}

const records = new Map<Change, Promise<Recorded>>();

/** The record of a change; made once. */
function recordOf(change: Change): Promise<Recorded> {
  const known = records.get(change) ?? record(change);
  records.set(change, known);
  return known;
}

/** The agent gets the signal at the point; the next one goes on. */
async function signalled(change: Change, point: Point, signal: "KILL" | "TERM"): Promise<boolean> {
  const isWhole = await wholeness(change);
  await using place = await placeOf(change);
  const { node, systemd } = place;
  const broken: unknown[] = [];
  let heard = 0;
  let made = 0;
  {
    await using agent = await begin(place, change, signalAt(node, point, signal));
    systemd.onCall = (name) => {
      heard += Number(point.heard && name === point.call);
      if (name === point.call && heard === point.nth) agent.child.kill(`SIG${signal}`);
      try {
        isWhole(place, systemd.restartCalls);
      } catch (error) {
        broken.push(error);
      }
    };
    await settles(agent, change);
    // The last points are those of its end.
    const ended = await agent.end("SIGTERM");
    if (ended === "SIGKILL") made = point.nth;
    else made = point.heard ? heard : await madeBy(agent, node, point);
    if (signal === "TERM") assert.ok([0, ends[change.code]].includes(Number(ended)), `${ended}`);
  }
  isWhole(place, systemd.restartCalls);
  await carryOn(place, change);
  if (broken.length > 0) throw broken[0];
  check(place, change);
  assert.ok(made >= point.nth || mayFallShort(point, made), `made ${made} times, and never killed`);
  return made >= point.nth;
}

/** The node is booted with what the power left. */
async function booted(change: Change, { disk, phase, asked, last }: State): Promise<boolean> {
  const isWhole = await wholeness(change);
  await using place = await placeOf(change, { disk });
  isWhole(place, asked);
  if (last) check(place, change, 0);
  const isOver = asked === change.restarts || ["restoring", "reviving"].includes(phase);
  const end = isOver ? change : (change.unbroken ?? change);
  await carryOn(place, end);
  // Only if the journal shows that the file was in place, a boot is the restart that is owed.
  const proves = ["restarting", "settling", "reviving"].includes(phase);
  check(place, end, asked === change.restarts || proves ? 0 : 1);
  return true;
}

/** The journal's times are moved: the clock of a node without a battery begins somewhere. */
function withClockOff({ disk, ...state }: State, years: number): State {
  const { calls, ...rest } = journalOf(disk) ?? {};
  const moved = (calls as number[]).map((call) => call + years * 31_536_000_000);
  const bytes = Buffer.from(JSON.stringify({ ...rest, calls: moved }));
  return { ...state, disk: new Map(disk).set(nodeFiles.journal, { bytes, mode: 0o600 }) };
}

/** The connection to the bus dies after the message; answers how many messages there were. */
async function hungUp(change: Change, message = Infinity): Promise<number> {
  await using place = await placeOf(change, { cut: "hangs up" });
  const { relay } = place;
  if (relay === undefined) throw new Error("no relay");
  relay.cutAfter = message;
  await carryOn(place, change);
  check(place, change);
  return relay.passed;
}

/** Points by which each phase of the journal is met. */
const isTurn = ({ call }: Point) => call === "rename" || call === "RestartUnit";

const killed: Interruption = async (change) => {
  const { points } = await recordOf(change);
  return points.map((point) => ({ ...point, run: () => signalled(change, point, "KILL") }));
};

const ended: Interruption = async (change) => {
  const points = (await recordOf(change)).points.filter(isTurn);
  return points.map((point) => ({ ...point, run: () => signalled(change, point, "TERM") }));
};

const powerless: Interruption = async (change) => {
  const { states } = await recordOf(change);
  return states.map((state) => ({ ...state, run: () => booted(change, state) }));
};

const untimely: Interruption = async (change) => {
  const { states } = await recordOf(change);
  const timed = states.filter(({ disk }) => (journalOf(disk)?.["calls"] as [])?.length > 0);
  const phases = new Map(timed.map((state) => [`${state.phase} ${state.asked}`, state]));
  return [...phases.values()].flatMap((state) =>
    [-1, 1].map((years) => ({
      name: `${state.name}, ${years} years`,
      run: () => booted(change, withClockOff(state, years)),
    })),
  );
};

const busless: Interruption = async (change) => {
  const messages = await hungUp(change);
  return Array.from({ length: messages }, (_, index) => ({
    name: `message ${index + 1}`,
    run: async () => (await hungUp(change, index + 1)) > index,
  }));
};

const isOfFile = ({ answer, before, breaks }: Change) => !answer && !before && !breaks;

/** When it comes, and of which changes. */
export const interruptions = [
  { when: "the agent is killed at any point", of: () => true, casesOf: killed },
  { when: "the agent is told to end in any phase", of: () => true, casesOf: ended },
  { when: "the power fails after any write", of: () => true, casesOf: powerless },
  { when: "the clock is a year off after a power failure", of: () => true, casesOf: untimely },
  { when: "the bus hangs up after any message", of: isOfFile, casesOf: busless },
] as const;

/** Runs the cases, three at a time: agents wait most of the time. Fails with all that fail. */
export async function runAll(t: TestContext, cases: readonly Case[]): Promise<void> {
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
  assert.deepEqual(broken, []);
  assert.ok(missed.length <= cases.length / 2, `${missed.length} of ${cases.length} were not met`);
}

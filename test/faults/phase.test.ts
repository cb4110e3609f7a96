/**
 * In each phase of the journal the agent is ended, or the whole node goes down and comes up again.
 * Scripted is what a reboot means to an agent: /run is empty, everybody on the bus is new, the
 * kubelet runs under a new InvocationID and has read the file that it found, the clock may be off
 * by a year. A reboot of a real node is in real.fixture.ts.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { keeping } from "../harness/agent/agent.ts";
import { atATime, carriedOn, endedWhen, phaseOf } from "./phases.ts";
import { ours, AgentPlace } from "./place.ts";
import { comesBack, crashes, type ScriptedRestart } from "../harness/agent/scripted-systemd.ts";

const theirs = '{"auths":{}}\n';
const oursBeside = `${ours}\n`;

type Moment = Readonly<{
  name: string;
  /** What comes of an attempt to restart the kubelet, counted from 1. */
  fate: (attempt: number) => ScriptedRestart;
  when: (place: AgentPlace) => boolean;
  /** Restarts that are still owed after a reboot at that moment. */
  afterReboot: number;
}>;

const works = () => comesBack;
const breaks = (attempt: number) => (attempt <= 3 ? crashes : comesBack);
const inPhase = (phase: string, more: (place: AgentPlace) => boolean) => (place: AgentPlace) =>
  phaseOf(place.node) === phase && more(place);

/**
 * Only when the journal says that the file was in place may a start of the kubelet count as the
 * restart that is owed.
 */
const applying: readonly Moment[] = [
  {
    name: "applying, the old file still there",
    fate: works,
    when: inPhase("applying", ({ node }) => node.file === theirs),
    afterReboot: 1,
  },
  {
    name: "applying, the new file just put there",
    fate: works,
    when: inPhase("applying", ({ node }) => node.file === oursBeside),
    afterReboot: 1,
  },
  {
    name: "restarting, not asked yet",
    fate: works,
    when: inPhase("restarting", ({ systemd }) => systemd.restartCalls === 0),
    afterReboot: 0,
  },
  {
    name: "restarting, the job under way",
    fate: works,
    when: inPhase(
      "restarting",
      ({ systemd }) => systemd.restartCalls === 1 && systemd.active === "deactivating",
    ),
    afterReboot: 0,
  },
  { name: "settling", fate: works, when: inPhase("settling", () => true), afterReboot: 0 },
];

const lastAttempt: Moment = {
  name: "settling after the last attempt",
  fate: (attempt) => (attempt < 3 ? crashes : comesBack),
  when: inPhase("settling", ({ systemd }) => systemd.restartCalls === 3),
  afterReboot: 0,
};

const rollingBack: readonly Moment[] = [
  {
    name: "restoring, the new file still there",
    fate: breaks,
    when: inPhase("restoring", ({ node }) => node.file === oursBeside),
    afterReboot: 1,
  },
  {
    name: "restoring, the old file just put back",
    fate: breaks,
    when: inPhase("restoring", ({ node }) => node.file === theirs),
    afterReboot: 1,
  },
  {
    name: "reviving, not asked yet",
    fate: breaks,
    when: inPhase("reviving", ({ systemd }) => systemd.restartCalls === 3),
    afterReboot: 0,
  },
  {
    name: "reviving, the job under way",
    fate: breaks,
    when: inPhase(
      "reviving",
      ({ systemd }) => systemd.restartCalls === 4 && systemd.active === "deactivating",
    ),
    afterReboot: 0,
  },
];

/** A node on its way to the moment. Jobs take half a second, so that they are met under way. */
async function prepare({ fate }: Moment): Promise<AgentPlace> {
  const place = await AgentPlace.make();
  writeFileSync(place.node.config, theirs);
  const { systemd } = place;
  systemd.startLimitMicros = 100_000n;
  systemd.fate = () => ({ ...fate(systemd.restartCalls), takes: 500 });
  return place;
}

const options = ({ systemd }: AgentPlace) => ({ revision: 1, healthzPort: systemd.healthzPort });

async function comesToItsEnd(
  place: AgentPlace,
  end: "applied" | "rolled back",
  name: string,
): Promise<void> {
  const { node, systemd } = place;
  const [status, code, file] =
    end === "applied"
      ? ([200, "GPS200", oursBeside] as const)
      : (["5nn", "GPS219", theirs] as const);
  await carriedOn(node, options(place), status, code);
  assert.equal(node.file, file, name);
  assert.equal(phaseOf(node), "applied", name);
  assert.deepEqual(node.kept, keeping(theirs), name);
  assert.equal(systemd.active, "active", name);
}

test("SIGTERM in any phase of an apply ends the agent with 0, and the next one ends the work with one restart", async () => {
  await atATime(2, applying, async (moment) => {
    await using place = await prepare(moment);
    assert.equal(
      await endedWhen(place.node, options(place), () => moment.when(place), "SIGTERM"),
      0,
      moment.name,
    );
    await comesToItsEnd(place, "applied", moment.name);
    assert.equal(place.systemd.restartCalls, 1, moment.name);
  });
});

test("H18: SIGTERM in any phase of a rollback ends the agent with 0, and the next one ends it with no restart too many", async () => {
  await atATime(2, rollingBack, async (moment) => {
    await using place = await prepare(moment);
    assert.equal(
      await endedWhen(place.node, options(place), () => moment.when(place), "SIGTERM"),
      0,
      moment.name,
    );
    await comesToItsEnd(place, "rolled back", moment.name);
    assert.equal(place.systemd.restartCalls, 4, moment.name);
  });
});

/**
 * The clock of a node without a battery begins somewhere; it is the journal's times that are moved
 * here.
 */
function moveClock({ node }: AgentPlace, years: number): void {
  const file = join(node.folder, "journal.json");
  const journal = JSON.parse(readFileSync(file, "utf8"));
  const calls = journal.calls.map((call: number) => call - years * 31_536_000_000);
  writeFileSync(file, JSON.stringify({ ...journal, calls }));
}

async function rebooted(
  moment: Moment,
  end: "applied" | "rolled back",
  years: number,
): Promise<void> {
  const name = `${moment.name}, clock moved by ${years} years`;
  await using place = await prepare(moment);
  assert.equal(
    await endedWhen(place.node, options(place), () => moment.when(place), "SIGKILL"),
    "SIGKILL",
    name,
  );
  await place.reboot();
  moveClock(place, years);
  await comesToItsEnd(place, end, name);
  assert.equal(place.systemd.restartCalls, moment.afterReboot, name);
}

test("a reboot in any phase of an apply is the restart that was owed, once the file was in place; none too many", async () => {
  await atATime(2, applying, (moment) => rebooted(moment, "applied", 0));
});

test("H18: a reboot in any phase of a rollback is the restart that was owed, once the old file was back; none too many", async () => {
  await atATime(2, rollingBack, (moment) => rebooted(moment, "rolled back", 0));
});

test("a reboot while the last attempt is on probation is no failure of the kubelet: nothing is rolled back", async () => {
  await rebooted(lastAttempt, "applied", 0);
});

test("a reboot with a clock that is off by a year, in either direction, neither forgets a restart nor makes one more", async () => {
  const [jobToApply, jobToRevive] = [applying[3], rollingBack[3]];
  assert.ok(jobToApply && jobToRevive);
  await atATime(2, [-1, 1], async (years) => {
    await rebooted(jobToApply, "applied", years);
    await rebooted(jobToRevive, "rolled back", years);
    await rebooted(lastAttempt, "applied", years);
  });
});

/**
 * A node goes down and comes up in the middle of what an agent does to its kubelet's flags: the
 * kubelet starts with what they name then, pulls are served all the while, and the next agent ends
 * what was begun, with no restart besides the boot that is not owed.
 *
 * `npm test` takes a sample of the moments (sample.ts).
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { providerFiles } from "#contract/names.ts";
import { toldOf } from "#pullsecret/provider/flags.ts";
import { AgentProcess, type MountedSources, type ProbeAnswer } from "../harness/agent/agent.ts";
import { envOf, given, isTold, kubeadmPlace, options, reads, registering } from "./kubeadm.ts";
import { atATime, carriedOn, endedWhen, phaseOf } from "./phases.ts";
import { type AgentPlace, content, ours } from "./place.ts";
import { answered } from "./provider.ts";
import { sample } from "../sample.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

type Moment = Readonly<{
  name: string;
  when: (place: AgentPlace) => boolean;
  /** Restarts that are still owed after a reboot at that moment. */
  owed: number;
}>;

type Way = Readonly<{
  prepare: () => Promise<AgentPlace>;
  revision: number;
  /** How the kubelet takes what it is given; as `reads` says where nothing else is said. */
  fate?: (place: AgentPlace) => void;
  moments: readonly Moment[];
  /** What the agent after the reboot ends with. */
  ends: readonly [status: ProbeAnswer, code: string];
  /** What must hold at the end. */
  check: (place: AgentPlace, where: string) => void;
  /** Pulls of a.io are served before, and at every moment. */
  serves?: true;
}>;

async function rebooted(way: Way, moments: readonly Moment[]): Promise<void> {
  const { revision, fate = () => {}, ends, check } = way;
  await atATime(2, moments, async ({ name, when, owed }) => {
    await using place = await way.prepare();
    fate(place);
    const next = () => options(place, revision);
    const ended = await endedWhen(place.node, next(), () => when(place), "SIGKILL");
    assert.equal(ended, "SIGKILL", name);
    if (way.serves) assertServed(place, name);
    await place.reboot();
    reads(place);
    fate(place);
    // Whatever it did before: a kubelet that does not start would start no agent, either.
    place.systemd.started();
    await carriedOn(place.node, next(), ...ends);
    assert.equal(place.systemd.restartCalls, owed, name);
    if (way.serves) assertServed(place, name);
    check(place, name);
  });
}

/** Both ways have it, or one: never none. */
function assertServed({ node }: AgentPlace, where: string): void {
  const inAnswer = answered(node.kubelet)?.["a.io"] === "ours";
  assert.ok(node.file === ours || inAnswer, `a.io is served by nobody: ${where}`);
}

const inPhase = (place: AgentPlace, phase: string) => phaseOf(place.node) === phase;
const isRestarting = ({ systemd }: AgentPlace) => systemd.active === "deactivating";
const isThere = ({ node }: AgentPlace, name: string) => existsSync(join(node.kubelet, name));

/** Of a change that a kubelet is restarted for. `done`: its last file is in place. */
function momentsOf(done: (place: AgentPlace) => boolean): Moment[] {
  const applying = (place: AgentPlace) => inPhase(place, "applying");
  return [
    { name: "applying, begun", when: (place) => applying(place) && !done(place), owed: 1 },
    { name: "applying, all in place", when: (place) => applying(place) && done(place), owed: 1 },
    {
      name: "restarting, the job under way",
      when: (place) => inPhase(place, "restarting") && isRestarting(place),
      owed: 0,
    },
    { name: "settling", when: (place) => inPhase(place, "settling"), owed: 0 },
  ];
}

/** Revision 1 is in force with these flags; revision 2 is mounted, for agents with the next. */
async function after(
  first: readonly string[],
  then: readonly string[],
  next: MountedSources,
): Promise<AgentPlace> {
  const place = await kubeadmPlace(first);
  await using agent = await AgentProcess.start(place.node, options(place));
  await agent.shows(200, "GPS200");
  place.node.flags = then;
  place.node.mount(2, next);
  place.node.newPod();
  return place;
}

/** Two of each way, where not all are asked for. */
const some = (t: TestContext, { moments }: Way) => sample(t, moments, 2);

test("a reboot in any phase of a registration is the restart that was owed, once the flags were in place, and the kubelet starts", async () => {
  const way: Way = {
    prepare: kubeadmPlace,
    revision: 1,
    moments: momentsOf(isTold),
    ends: [200, "GPS200"],
    check: ({ node, systemd }, where) => {
      assert.equal(toldOf(systemd.command), "ours", where);
      assert.deepEqual(answered(node.kubelet), { "a.io": "ours" }, where);
    },
  };
  await rebooted(way, way.moments);
});

test("H18: a reboot in any phase of a registration's rollback leaves kubeadm's file as it was, and the boot is the revival", async (t) => {
  const way: Way = {
    prepare: kubeadmPlace,
    revision: 1,
    fate: ({ systemd }) => {
      systemd.fate = () => {
        const told = toldOf(systemd.commandOf()) === "ours";
        return { ...(told ? crashes : comesBack), takes: 500 };
      };
    },
    moments: [
      {
        name: "restoring, the flags still there",
        when: (place) => inPhase(place, "restoring") && isTold(place),
        owed: 1,
      },
      {
        name: "restoring, the flags taken out",
        when: (place) => inPhase(place, "restoring") && !isTold(place),
        owed: 1,
      },
      {
        name: "reviving, not asked for yet",
        when: (place) => inPhase(place, "reviving") && place.systemd.restartCalls === 3,
        owed: 0,
      },
      {
        name: "reviving, the job under way",
        when: (place) => inPhase(place, "reviving") && isRestarting(place),
        owed: 0,
      },
    ],
    ends: ["5nn", "GPS219"],
    check: (place, where) => {
      assert.equal(readFileSync(envOf(place), "utf8"), given, where);
      assert.equal(toldOf(place.systemd.command), "none", where);
    },
  };
  await rebooted(way, some(t, way));
});

test("H20: a reboot in any phase of a registration's withdrawal leaves kubeadm's file as it was, and nothing of ours", async (t) => {
  const proved = (place: AgentPlace) =>
    toldOf(place.systemd.command) === "none" &&
    (inPhase(place, "applied") || inPhase(place, "applying"));
  const { script, config, answer, folder } = providerFiles;
  const way: Way = {
    prepare: () => after(registering, registering, {}),
    revision: 2,
    moments: [
      ...momentsOf((place) => !isTold(place)),
      {
        name: "proved without the flags, what they named still there",
        when: (place) => proved(place) && isThere(place, script),
        owed: 0,
      },
      {
        name: "half of what they named is gone",
        when: (place) => proved(place) && !isThere(place, config) && isThere(place, answer),
        owed: 0,
      },
    ],
    ends: [200, "GPS224"],
    check: (place, where) => {
      assert.equal(readFileSync(envOf(place), "utf8"), given, where);
      assert.equal(toldOf(place.systemd.command), "none", where);
      assert.ok(!isThere(place, folder) && !existsSync(place.node.folder), where);
    },
  };
  await rebooted(way, some(t, way));
});

test("a reboot in any phase of a change to the credential provider leaves config.json or the answer, and ends with both", async (t) => {
  const way: Way = {
    prepare: () => after([], registering, content),
    revision: 2,
    moments: momentsOf(isTold),
    ends: [200, "GPS200"],
    serves: true,
    check: ({ node, systemd }, where) => {
      assert.equal(toldOf(systemd.command), "ours", where);
      // No kubelet has asked.
      assert.equal(node.file, ours, where);
      assert.deepEqual(answered(node.kubelet), { "a.io": "ours" }, where);
    },
  };
  await rebooted(way, some(t, way));
});

test("a reboot in any phase of a change back to config.json leaves the answer until config.json is proved", async (t) => {
  const way: Way = {
    prepare: () => after(registering, [], content),
    revision: 2,
    moments: [
      ...momentsOf(({ node }) => node.file === ours),
      {
        name: "proved, the answer still there",
        when: (place) =>
          place.systemd.restartCalls === 2 &&
          (inPhase(place, "applied") || inPhase(place, "applying")) &&
          answered(place.node.kubelet)?.["a.io"] === "ours",
        owed: 0,
      },
    ],
    ends: [200, "GPS200"],
    serves: true,
    check: (place, where) => {
      assert.equal(place.node.file, ours, where);
      assert.deepEqual(answered(place.node.kubelet), {}, where);
      assert.ok(isTold(place), where);
    },
  };
  await rebooted(way, some(t, way));
});

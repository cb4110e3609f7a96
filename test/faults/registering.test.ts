/**
 * What may become of a node between the writing of a kubelet's flags and their proof, and of the
 * file that they stand in: the node goes down and comes up, or kubeadm writes the file anew.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { kubeadmFlagsFile, providerFiles } from "#contract/names.ts";
import { flagsIn, toldOf } from "#pullsecret/provider/flags.ts";
import { AgentProcess, inTime } from "./agent.ts";
import { atATime, carriedOn, endedWhen, phaseOf } from "./phases.ts";
import { AgentPlace } from "./place.ts";
import { answered, installProvider } from "./provider.ts";
import { comesBack } from "./scripted-systemd.ts";

const given = 'KUBELET_KUBEADM_ARGS="--v=2"\n';
const envOf = ({ node }: AgentPlace) => join(node.kubelet, kubeadmFlagsFile);
const options = ({ systemd }: AgentPlace) => ({ revision: 1, healthzPort: systemd.healthzPort });
const isTold = (place: AgentPlace) => flagsIn(readFileSync(envOf(place), "utf8")) === "with";

/** Each kubelet is started with what kubeadm's file says then, and only if that is there. */
function reads(place: AgentPlace): void {
  const { node, systemd } = place;
  systemd.startLimitMicros = 100_000n;
  systemd.fate = () => ({ ...comesBack, takes: 500 });
  systemd.commandOf = () => {
    for (const name of isTold(place) ? [providerFiles.script, providerFiles.config] : [])
      assert.ok(existsSync(join(node.kubelet, name)), `${name} is missing at a start`);
    return `kubelet ${/"(.*)"/.exec(readFileSync(envOf(place), "utf8"))?.[1]}`;
  };
}

async function prepare(): Promise<AgentPlace> {
  const place = await AgentPlace.make();
  place.node.flags = ["--delivery=CredentialProvider", "--registration=Agent"];
  writeFileSync(envOf(place), given);
  reads(place);
  return place;
}

type Moment = Readonly<{
  name: string;
  when: (place: AgentPlace) => boolean;
  /** Restarts that are still owed after a reboot at that moment. */
  owed: number;
}>;
const inPhase = (place: AgentPlace, phase: string) => phaseOf(place.node) === phase;
const moments: readonly Moment[] = [
  {
    name: "applying, without the flags",
    when: (place) => inPhase(place, "applying") && !isTold(place),
    owed: 1,
  },
  {
    name: "applying, the flags just put there",
    when: (place) => inPhase(place, "applying") && isTold(place),
    owed: 1,
  },
  {
    name: "restarting, the job under way",
    when: (place) => inPhase(place, "restarting") && place.systemd.active === "deactivating",
    owed: 0,
  },
  { name: "settling", when: (place) => inPhase(place, "settling"), owed: 0 },
];

test("a reboot in any phase of a registration is the restart that was owed, once the flags were in place, and the kubelet starts", async () => {
  await atATime(2, moments, async ({ name, when, owed }) => {
    await using place = await prepare();
    const ended = await endedWhen(place.node, options(place), () => when(place), "SIGKILL");
    assert.equal(ended, "SIGKILL", name);
    await place.reboot();
    reads(place);
    place.systemd.started();
    await carriedOn(place.node, options(place), 200, "GPS200");
    assert.equal(toldOf(place.systemd.command), "ours", name);
    assert.equal(place.systemd.restartCalls, owed, name);
    assert.deepEqual(answered(place.node.kubelet), { "a.io": "ours" }, name);
  });
});

test("kubeadm writes its file anew, as a join does: the flags come back with a restart, three times in an hour, and what was named stays", async () => {
  await using place = await prepare();
  const { systemd } = place;
  await using agent = await AgentProcess.start(place.node, options(place));
  await agent.shows(200, "GPS200");
  for (const times of [1, 2]) {
    writeFileSync(envOf(place), `KUBELET_KUBEADM_ARGS="--v=${times}"\n`);
    assert.ok(await inTime(() => systemd.restartCalls === 1 + times, 60_000), agent.output);
    await agent.shows(200, "GPS200", 60_000);
    assert.equal(toldOf(systemd.command), "ours");
    assert.match(systemd.command, new RegExp(`--v=${times} `));
  }
  writeFileSync(envOf(place), given);
  assert.ok(await inTime(() => isTold(place), 60_000), agent.output);
  await agent.shows(200, "GPS200", 60_000);
  assert.equal(systemd.restartCalls, 3, "the fourth in an hour");
});

test("kubeadm reset, which wipes all, leaves nothing that a kubelet's flags name; joined again, the node is registered anew", async () => {
  await using place = await prepare();
  const { node, systemd } = place;
  await using agent = await AgentProcess.start(node, options(place));
  await agent.shows(200, "GPS200");
  rmSync(envOf(place));
  for (const name of [providerFiles.folder, "global-pull-secret"])
    rmSync(join(node.kubelet, name), { recursive: true, force: true });
  await agent.shows("5nn", "GPS236", 60_000);
  writeFileSync(envOf(place), given);
  systemd.started();
  await agent.shows(200, "GPS200", 60_000);
  assert.equal(toldOf(systemd.command), "ours");
  assert.deepEqual(answered(node.kubelet), { "a.io": "ours" });
});

test("somebody else's provider in the file is not touched: ours is given up there, and said", async () => {
  await using place = await prepare();
  await using agent = await AgentProcess.start(place.node, options(place));
  await agent.shows(200, "GPS200");
  const theirs = given.replace("--v=2", "--image-credential-provider-config=/etc/x");
  writeFileSync(envOf(place), theirs);
  await agent.shows("5nn", "GPS236", 60_000);
  await place.node.says(/names a credential provider already/);
  assert.equal(readFileSync(envOf(place), "utf8"), theirs);
  assert.equal(place.systemd.restartCalls, 1);
});

test("a withdrawal in another mode leaves the flags with an empty answer, and its last words say so", async () => {
  await using place = await prepare();
  const { node, systemd } = place;
  {
    await using agent = await AgentProcess.start(node, options(place));
    await agent.shows(200, "GPS200");
  }
  node.mount(2, {});
  node.newPod();
  await using agent = await AgentProcess.start(node, { ...options(place), revision: 2, flags: [] });
  assert.equal(await agent.ended(), 0, agent.output);
  assert.match(
    node.message,
    /^GPS224 .*kubeadm-flags\.env still names a credential provider of ours/,
  );
  assert.deepEqual(answered(node.kubelet), {});
  assert.ok(isTold(place));
  assert.equal(systemd.restartCalls, 1);
});

async function onNoexec(registration: "Agent" | "Preinstalled", code: string): Promise<void> {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  const mount = (...args: string[]) =>
    assert.equal(spawnSync("mount", [...args, node.kubelet]).status, 0);
  mount("-t", "tmpfs", "-o", "noexec", "tmpfs");
  try {
    writeFileSync(envOf(place), given);
    if (registration === "Preinstalled") installProvider(node.kubelet);
    reads(place);
    node.flags = ["--delivery=CredentialProvider", `--registration=${registration}`];
    await using agent = await AgentProcess.start(node, options(place));
    await agent.shows("5nn", code, 30_000);
    await node.says(/noexec/);
    assert.deepEqual(readFileSync(envOf(place), "utf8"), given);
    assert.equal(systemd.restartCalls, 0);
    mount("-o", "remount,exec");
    await agent.shows(200, "GPS200", 60_000);
    assert.deepEqual(answered(node.kubelet), { "a.io": "ours" });
    await agent.end("SIGTERM");
  } finally {
    assert.equal(spawnSync("umount", [node.kubelet]).status, 0);
  }
}

test("a kubelet's directory that is mounted noexec, where no script could be run, is left as it is by a registration, and heals", async () => {
  await onNoexec("Agent", "GPS236");
});

test("a provider that was prepared on a file system mounted noexec is not used, and is once it can be run", async () => {
  await onNoexec("Preinstalled", "GPS235");
});

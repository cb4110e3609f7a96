/**
 * What may become of the file that a kubelet's flags stand in, and of what they name, while an
 * agent runs: kubeadm writes it anew, somebody deletes or spoils a part, the bus is gone.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { providerFiles } from "#contract/names.ts";
import { toldOf } from "#pullsecret/provider/flags.ts";
import { AgentProcess, inTime } from "../harness/agent/agent.ts";
import { envOf, given, isTold, kubeadmPlace, options, reads } from "./kubeadm.ts";
import { AgentPlace } from "./place.ts";
import { answered, installProvider } from "./provider.ts";

test("kubeadm writes its file anew, as a join does: the flags come back with a restart, three times in an hour, and what was named stays", async () => {
  await using place = await kubeadmPlace();
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
  await using place = await kubeadmPlace();
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
  await using place = await kubeadmPlace();
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
  await using place = await kubeadmPlace();
  const { node, systemd } = place;
  {
    await using agent = await AgentProcess.start(node, options(place));
    await agent.shows(200, "GPS200");
  }
  node.mount(2, {});
  node.newPod();
  await using agent = await AgentProcess.start(node, { ...options(place, 2), flags: [] });
  assert.equal(await agent.ended(), 0, agent.output);
  assert.match(
    node.message,
    /^GPS224 .*kubeadm-flags\.env still names a credential provider of ours/,
  );
  assert.deepEqual(answered(node.kubelet), {});
  assert.ok(isTold(place));
  assert.equal(systemd.restartCalls, 1);
});

const { folder, script, config, answer, bin, configs } = providerFiles;
const files = [script, config, answer];

/** What lies there, as text. */
function laid({ node }: AgentPlace): (string | undefined)[] {
  const paths = files.map((name) => join(node.kubelet, name));
  return paths.map((path) => (existsSync(path) ? readFileSync(path, "utf8") : undefined));
}

test("H17: script, configuration and answer that are deleted, spoilt or given another provider are put back without a restart, with the kubelet up or down", async () => {
  await using place = await kubeadmPlace();
  const { node, systemd } = place;
  const at = (name: string) => join(node.kubelet, name);
  await using agent = await AgentProcess.start(node, options(place));
  await agent.shows(200, "GPS200");
  const first = laid(place);
  const spoils: readonly (readonly [what: string, spoil: () => void])[] = [
    ["all spoilt", () => files.forEach((name) => writeFileSync(at(name), "{"))],
    [
      "another provider in our file, and the kubelet has met it",
      () => {
        const { providers, ...rest } = JSON.parse(readFileSync(at(config), "utf8"));
        const another = { ...providers[0], name: "another" };
        const spoilt = JSON.stringify({ ...rest, providers: [...providers, another] });
        writeFileSync(at(config), spoilt);
        systemd.died();
      },
    ],
    ["all deleted", () => rmSync(at(folder), { recursive: true })],
  ];
  for (const [what, spoil] of spoils) {
    spoil();
    const same = () => JSON.stringify(laid(place)) === JSON.stringify(first);
    assert.ok(await inTime(same, 60_000), `${what}: ${laid(place).join("\n")}\n${agent.output}`);
    // Whoever starts it now.
    systemd.started();
    await agent.shows(200, "GPS200", 60_000);
  }
  const others = [`${configs}/another.json`, `${bin}/another`].map(at);
  for (const other of others) writeFileSync(other, "theirs");
  node.mount(2, {});
  node.newPod();
  await agent.end("SIGTERM");
  assert.equal(systemd.restartCalls, 1);
  await using next = await AgentProcess.start(node, options(place, 2));
  assert.equal(await next.ended(), 0, next.output);
  assert.match(node.message, /^GPS224 /);
  for (const other of others) assert.equal(readFileSync(other, "utf8"), "theirs");
  assert.deepEqual(laid(place), [undefined, undefined, undefined]);
});

test("what an installer laid is not the agent's to mend: its answer alone is put back, and the rest is said until somebody mends it", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  installProvider(node.kubelet);
  node.flags = ["--delivery=CredentialProvider", "--restart=Never"];
  await using agent = await AgentProcess.start(node, options(place));
  await agent.shows(200, "GPS200");
  const first = laid(place);
  rmSync(join(node.kubelet, answer));
  assert.ok(await inTime(() => laid(place)[2] === first[2], 60_000), agent.output);
  for (const [nth, name] of [script, config].entries()) {
    writeFileSync(join(node.kubelet, name), "{", { mode: 0o600 });
    if (name === script) rmSync(join(node.kubelet, name));
    await agent.shows("5nn", "GPS235", 60_000);
    writeFileSync(join(node.kubelet, name), first[nth] ?? "", { mode: 0o700 });
    await agent.shows(200, "GPS200", 60_000);
  }
  assert.deepEqual(laid(place), first);
});

test("without a bus a registered kubelet gets its new answer, and what needs a restart waits for the bus", async () => {
  await using place = await kubeadmPlace();
  const { node } = place;
  {
    await using agent = await AgentProcess.start(node, options(place));
    await agent.shows(200, "GPS200");
  }
  await place.bus.signal("SIGKILL");
  node.mount(2, { additional: { "a.io": "second" } });
  {
    await using agent = await AgentProcess.start(node, options(place, 2));
    await agent.shows(200, "GPS200");
    assert.deepEqual(answered(node.kubelet), { "a.io": "second" });
  }
  node.mount(3, { additional: { "a.io": "third" }, original: { "o.io": "theirs" } });
  await using agent = await AgentProcess.start(node, options(place, 3));
  await agent.shows("5nn", "GPS210");
  assert.equal(node.file, undefined);
  assert.deepEqual(answered(node.kubelet), { "a.io": "second" });
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

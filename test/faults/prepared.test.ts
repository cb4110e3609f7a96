/** Changes to the files of a prepared credential provider while an agent runs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { providerFiles } from "#contract/names.ts";
import { answerOf } from "#pullsecret/provider.ts";
import { stays } from "../cluster/await.ts";
import { inTime } from "../harness/agent/agent.ts";
import { AgentPlace } from "./place.ts";
import { answeredPasswords, installProvider } from "./provider.ts";

const { script, config, answer } = providerFiles;
const byProvider = ["--delivery=CredentialProvider", "--restart=Never"];

/** The installer's files, as text. */
function laid({ node }: AgentPlace): (string | undefined)[] {
  const paths = [script, config, answer].map((name) => join(node.kubelet, name));
  return paths.map((path) => (existsSync(path) ? readFileSync(path, "utf8") : undefined));
}

test("restores only the provider's answer, and reports changes of the installer's files until they are repaired", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  installProvider(node.kubelet);
  await using agent = await place.agent(byProvider);
  await agent.proves();
  const first = laid(place);
  rmSync(join(node.kubelet, answer));
  assert.ok(await inTime(() => laid(place)[2] === first[2], 60_000), agent.output);
  for (const [nth, name] of [script, config].entries()) {
    writeFileSync(join(node.kubelet, name), "{", { mode: 0o600 });
    if (name === script) rmSync(join(node.kubelet, name));
    await agent.shows("GPS235", 60_000);
    writeFileSync(join(node.kubelet, name), first[nth] ?? "", { mode: 0o700 });
    await agent.proves(60_000);
  }
  assert.deepEqual(laid(place), first);
});

test("confirms a withdrawal only after it has emptied a provider's answer, even without a journal", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  installProvider(node.kubelet);
  const path = join(node.kubelet, answer);
  writeFileSync(path, answerOf(new Map([["a.io", { auth: "dTpw" }]])), { mode: 0o644 });
  // Mounts the file over itself, so that the agent cannot replace it.
  assert.equal(spawnSync("mount", ["--bind", path, path]).status, 0);
  node.mount(1, {});
  await using agent = await place.agent(byProvider);
  try {
    await agent.shows("GPS208");
    await stays("nothing is confirmed", () => !agent.output.includes("GPS224"), 3000);
  } finally {
    assert.equal(spawnSync("umount", [path]).status, 0);
  }
  await agent.removes(60_000);
  assert.deepEqual(answeredPasswords(node.kubelet), {});
  await agent.end("SIGTERM");
});

test("if the provider's file system is mounted noexec, uses the provider only after a remount without noexec", async () => {
  await using place = await AgentPlace.make();
  const { node, systemd } = place;
  const mount = (...args: string[]) =>
    assert.equal(spawnSync("mount", [...args, node.kubelet]).status, 0);
  mount("-t", "tmpfs", "-o", "noexec", "tmpfs");
  try {
    installProvider(node.kubelet);
    await using agent = await place.agent(byProvider);
    await agent.shows(/GPS235 .*noexec/, 30_000);
    mount("-o", "remount,exec");
    await agent.proves(60_000);
    assert.deepEqual(answeredPasswords(node.kubelet), { "a.io": "ours" });
    assert.equal(systemd.restartCalls, 0);
    await agent.end("SIGTERM");
  } finally {
    assert.equal(spawnSync("umount", [node.kubelet]).status, 0);
  }
});

/**
 * Unfit nodes, which the agent leaves unchanged and reports with a reason, and nodes whose kubelet
 * belongs to another unit.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { freshBundle } from "#tools/build/bundle.ts";
import { exitCodes, mountPaths, podFiles } from "#contract/names.ts";
import { encode, NodeDirectory, inTime } from "../harness/agent/agent.ts";
import { daemonSetOf, withoutCapabilities } from "../harness/agent/deployed.ts";
import { phaseOf } from "./phases.ts";
import { content, ours, AgentPlace } from "./place.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

/** Asserts that the agent has written and restarted nothing. */
function untouched({ node, systemd }: AgentPlace, file?: string): void {
  assert.equal(node.file, file);
  assert.ok(!existsSync(join(node.folder, "journal.json")));
  assert.equal(systemd.restartCalls, 0);
}

test("restarts no kubelet while the kubelet's healthz does not answer", async () => {
  await using place = await AgentPlace.make();
  place.systemd.healthy = false;
  {
    await using agent = await place.agent([], 0);
    await agent.shows(200, "GPS221");
  }
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS221");
  untouched(place);
  place.systemd.healthy = true;
  await agent.shows(200, "GPS200");
  assert.equal(place.systemd.restartCalls, 1);
});

test("restarts the kubelet's active unit, and never an inactive kubelet.service beside it", async () => {
  await using place = await AgentPlace.make();
  place.systemd.unit = "k3s-agent.service";
  place.systemd.others.set("kubelet.service", "inactive");
  {
    await using agent = await place.agent(["--unit=kubelet.service"]);
    await agent.shows("5nn", "GPS230");
    untouched(place);
  }
  await using agent = await place.agent();
  await agent.shows(200, "GPS200");
  assert.deepEqual(place.systemd.restarted, ["k3s-agent.service"]);
});

test("does not start a stopped kubelet when config.json drifts", async () => {
  await using place = await AgentPlace.make();
  await using agent = await place.agent(["--unit=kubelet.service"]);
  await agent.shows(200, "GPS200");
  [place.systemd.active, place.systemd.sub, place.systemd.mainPid] = ["inactive", "dead", 0];
  writeFileSync(place.node.config, "{}");
  // The agent repairs the file, but must not start the kubelet. The kubelet reads the file when an
  // administrator starts it.
  assert.ok(await inTime(() => place.node.file === ours));
  await agent.shows("5nn", "GPS221");
  place.systemd.started();
  await agent.shows("5nn", "GPS254", 40_000);
  assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 1]);
});

test("changes nothing and names the units if several units, or none, could be the kubelet's active unit", async () => {
  await using place = await AgentPlace.make();
  place.systemd.others.set("k3s.service", "active");
  await using agent = await place.agent();
  await agent.shows("5nn", "kubelet.service and k3s.service are active");
  untouched(place);
  [place.systemd.active, place.systemd.sub] = ["failed", "failed"];
  place.systemd.others.set("k3s.service", "activating");
  await agent.shows("5nn", "kubelet.service is failed, k3s.service is activating");
  untouched(place);
});

test("repeats failed restarts of the detected unit, although no unit is active after the first failure", async () => {
  await using place = await AgentPlace.make();
  const { systemd } = place;
  systemd.unit = "rke2-agent.service";
  systemd.startLimitMicros = 200_000n;
  systemd.script = [crashes, crashes, crashes, comesBack];
  await using agent = await place.agent();
  assert.equal(await agent.ended(), 1);
  assert.match(place.node.message, /^GPS218 /);
  assert.deepEqual(systemd.restarted, Array(4).fill("rke2-agent.service"));
  assert.deepEqual([place.node.file, systemd.active], [undefined, "active"]);
});

test("restarts a unit that contains a control plane only if a flag allows this; without the flag, waits for the kubelet", async () => {
  await using place = await AgentPlace.make();
  place.systemd.unit = "k3s.service";
  {
    await using agent = await place.agent();
    await agent.shows("5nn", "GPS254");
    assert.deepEqual([place.node.file, place.systemd.restartCalls], [ours, 0]);
    // Another client restarts the unit. Then the kubelet has read the file, so the agent no longer
    // waits.
    place.systemd.started();
    await agent.shows(200, "GPS200");
    assert.equal(place.systemd.restartCalls, 0);
    assert.equal(await agent.end("SIGTERM"), 0);
  }
  place.node.mount(2, { additional: { "a.io": "newer" } });
  await using agent = await place.agent(["--restart-control-plane=Always"], 2);
  await agent.shows(200, "GPS200");
  assert.deepEqual(place.systemd.restarted, ["k3s.service"]);
});

test("writes nothing if systemd is too old to distinguish two restarts", async () => {
  await using place = await AgentPlace.make();
  for (const property of ["NRestarts", "InvocationID"]) {
    place.systemd.unknown.clear();
    place.systemd.unknown.add(property);
    await using agent = await place.agent();
    await agent.shows("5nn", "GPS231");
    untouched(place);
  }
});

test("names a credential file that a new config.json would hide, and applies the change once config.json exists", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  node.sees({ "/.docker/config.json": "entries", "/root/.docker/config.json": "entries" });
  {
    await using agent = await place.agent([], 0);
    await agent.shows(
      200,
      "GPS232 config.json would hide another file from which the kubelet takes credentials (/.docker",
    );
    untouched(place);
  }
  node.sees({ "/root/.docker/config.json": "entries" });
  place.systemd.environment = ["HOME=/root"];
  {
    await using agent = await place.agent();
    await agent.shows("5nn", "(/root/.docker/config.json)");
    untouched(place);
    // An administrator moves the entries, as the message advises.
    writeFileSync(node.config, JSON.stringify({ auths: { "b.io": { auth: encode("theirs") } } }));
    await agent.shows(200, "GPS200", 40_000);
    assert.deepEqual(Object.keys(JSON.parse(node.file ?? "").auths), ["b.io", "a.io"]);
  }
});

test("for a kubelet without HOME, ignores /root/.docker, but not .dockercfg beside config.json", async () => {
  await using place = await AgentPlace.make();
  place.node.sees({ "/root/.docker/config.json": "entries" });
  const legacy = join(place.node.kubelet, ".dockercfg");
  writeFileSync(legacy, JSON.stringify({ "b.io": { auth: encode("theirs") } }));
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS232");
  await agent.shows("5nn", "(.dockercfg)");
  untouched(place);
  rmSync(legacy);
  place.node.mount(1, content);
  await agent.shows(200, "GPS200", 40_000);
});

test("without config.json and without the first container's findings, applies only with --hidden-files Ignore", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  rmSync(join(node.pod, podFiles.hidden));
  {
    await using agent = await place.agent();
    await agent.shows("5nn", "GPS233");
    untouched(place);
  }
  await using agent = await place.agent(["--hidden-files=Ignore"]);
  await agent.shows(200, "GPS200");
});

test("with --hidden-files Skip, finds .dockercfg beside config.json without the first container's findings", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  rmSync(join(node.pod, podFiles.hidden));
  const legacy = join(node.kubelet, ".dockercfg");
  writeFileSync(legacy, JSON.stringify({ "b.io": { auth: encode("theirs") } }));
  await using agent = await place.agent(["--hidden-files=Skip"]);
  await agent.shows("5nn", "GPS232");
  untouched(place);
  rmSync(legacy);
  node.mount(1, content);
  await agent.shows(200, "GPS200", 40_000);
});

test("creates config.json and our folder again if another program deletes both", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  writeFileSync(join(node.pod, podFiles.hidden), JSON.stringify({ kind: "ours" }));
  await using agent = await place.agent();
  await agent.shows(200, "GPS200");
  rmSync(node.folder, { recursive: true });
  rmSync(node.config);
  assert.ok(await inTime(() => phaseOf(node) === "applied" && node.file === ours, 40_000));
  await agent.shows("5nn", "GPS254");
  assert.equal(place.systemd.restartCalls, 1);
});

test("on an unfit node, ends once with the exit code of a refusal, and then waits for a new grant", async () => {
  await using place = await AgentPlace.make();
  const { node } = place;
  node.sees({ "/.docker/config.json": "entries" });
  {
    await using agent = await place.agent();
    assert.equal(await agent.ended(), exitCodes.refused);
    assert.match(node.message, /^GPS232 .*\/\.docker\/config\.json/);
  }
  await using agent = await place.agent();
  await agent.shows("5nn", "GPS257");
  untouched(place);
  writeFileSync(node.config, JSON.stringify({ auths: { "b.io": { auth: encode("theirs") } } }));
  node.grant(1, { since: "2026-11-26T19:00:00Z" });
  await agent.shows(200, "GPS200", 40_000);
});

/** Runs Node.js with these arguments like the first container: as root without capabilities. */
function asContainer(args: readonly string[]) {
  const [command = "", ...before] = withoutCapabilities;
  return spawnSync(command, [...before, process.execPath, ...args], { encoding: "utf8" });
}

/**
 * Runs the first container's program with the flags that the controller sets. Returns its output.
 */
async function runFirstContainer(node: NodeDirectory, root: string): Promise<unknown> {
  const program = (await freshBundle()).find((path) => path.endsWith("/hidden.cjs")) ?? "";
  const [container] = daemonSetOf().spec?.template.spec?.initContainers ?? [];
  assert.ok(container);
  const local = (text: string) =>
    text
      .replace(mountPaths.root, root)
      .replace(mountPaths.pod, node.pod)
      .replace("/app/hidden.cjs", program);
  const argv = [...(container.command ?? []).slice(1), ...(container.args ?? [])].map(local);
  const file = join(node.pod, podFiles.hidden);
  rmSync(file, { force: true });
  const ended = asContainer([...argv, `--root=${root}`, `--pod-directory=${node.pod}`]);
  assert.deepEqual([ended.status, ended.stdout], [0, ""], ended.stderr);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : ended.stderr;
}

test("the first container finds files that config.json would hide, prints no content, and exits with 0", async () => {
  using node = new NodeDirectory();
  const root = join(node.root, "host");
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const secret = encode("planted-password");
  put("/root/.docker/config.json", JSON.stringify({ auths: { "b.io": { auth: secret } } }));
  put("/.dockercfg", JSON.stringify({ "b.io": { auth: secret } }));
  put("/config.json", "not JSON");
  const seen = {
    "/config.json": "none",
    "/root/.docker/config.json": "entries",
    "/.docker/config.json": "none",
    "/root/.dockercfg": "none",
    "/.dockercfg": "entries",
  };
  assert.deepEqual(await runFirstContainer(node, root), { kind: "seen", files: seen });
  // Root without capabilities cannot read another user's private file.
  chownSync(join(root, "/.dockercfg"), 65_534, 65_534);
  chmodSync(join(root, "/.dockercfg"), 0o600);
  const files = { ...seen, "/.dockercfg": { unknown: "EACCES" } };
  assert.deepEqual(await runFirstContainer(node, root), { kind: "seen", files });
  put("/var/lib/kubelet/global-pull-secret/journal.json", "{}");
  assert.deepEqual(await runFirstContainer(node, root), { kind: "ours" });
  rmSync(node.pod, { recursive: true });
  assert.match(String(await runFirstContainer(node, root)), /ENOENT|ERR_ACCESS/);
});

test("the first container can read no other file and write none under the DaemonSet's flags", () => {
  using node = new NodeDirectory();
  const program = join(node.root, "try.cjs");
  const root = join(node.root, "host");
  for (const path of ["/etc/shadow", "/root/.docker/config.json"]) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "x");
  }
  writeFileSync(
    program,
    `const fs = require("fs"); let got = [];
const attempts = {
  shadow: () => fs.readFileSync(${JSON.stringify(join(root, "/etc/shadow"))}),
  list: () => fs.readdirSync(${JSON.stringify(join(root, "/root"))}),
  allowed: () => fs.readFileSync(${JSON.stringify(join(root, "/root/.docker/config.json"))}),
  write: () => fs.writeFileSync(${JSON.stringify(join(root, "/config.json"))}, ""),
  run: () => { const { error } = require("child_process").spawnSync("/bin/true"); if (error) throw error; },
};
for (const [name, one] of Object.entries(attempts)) try { one(); got.push(name); } catch {}
console.log(JSON.stringify(got));`,
  );
  const command = daemonSetOf().spec?.template.spec?.initContainers?.[0]?.command ?? [];
  const flags = command
    .slice(1, -1)
    .map((flag) =>
      flag
        .replace(mountPaths.root, root)
        .replace(mountPaths.pod, node.pod)
        .replace("/app/hidden.cjs", program),
    );
  const { stdout, stderr } = asContainer([...flags, program]);
  assert.deepEqual(JSON.parse(stdout || "null"), ["allowed"], stderr);
});

test("the first container reports every wrong flag and exits with 0, so that the agent can start", async () => {
  const program = (await freshBundle()).find((path) => path.endsWith("/hidden.cjs")) ?? "";
  const wrong = ["--root", "host", "--kubelet-dir=/var/lib/kubelet"];
  const { status, stderr } = asContainer([program, ...wrong]);
  assert.equal(status, 0);
  assert.match(
    stderr,
    /^--kubelet-dir: is not a flag; .*\n--root "host": is not an absolute path.*\n$/,
  );
});

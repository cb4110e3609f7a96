/**
 * Runs the agent under the permission model of Node.js, with the flags of the DaemonSet that the
 * controller applies. The model lets the bundled agent do all its work, and refuses everything
 * else.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { AgentProcess, encode, NodeDirectory } from "../harness/agent/agent.ts";
import { many, nodeFlags } from "../harness/agent/deployed.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

test("applies, repairs and withdraws under the DaemonSet's flags", async () => {
  using node = new NodeDirectory();
  await using systemd = await ScriptedSystemd.start(node.systemd);
  const options = { healthzPort: systemd.healthzPort };
  node.mount(1, { additional: { "a.io": "ours" } });
  {
    await using agent = await AgentProcess.start(node, { ...options, revision: 1 });
    await agent.proves();
    writeFileSync(node.config, "{}");
    await agent.shows("GPS254");
    assert.match(node.file ?? "", new RegExp(encode("ours")));
    assert.doesNotMatch(agent.output, /GPS242/, "the agent may not watch its directories");
  }
  node.mount(2, {});
  {
    await using agent = await AgentProcess.start(node, { ...options, revision: 2 });
    await agent.removes();
  }
  assert.equal(node.file, undefined);
  assert.ok(!existsSync(node.folder));
});

test("can read and write no other file, and start no process, under the DaemonSet's flags", () => {
  using node = new NodeDirectory();
  const elsewhere = mkdtempSync(join(tmpdir(), "gps-permission-"));
  const script = join(elsewhere, "try.cjs");
  const attempts = [
    `fs.readdirSync(${JSON.stringify(node.root)})`,
    `fs.readdirSync(${JSON.stringify(node.systemd)})`,
    'fs.readFileSync("/etc/passwd")',
    'fs.readFileSync("/proc/self/environ")',
    `fs.writeFileSync(${JSON.stringify(join(node.root, "word"))}, "")`,
    `fs.writeFileSync(${JSON.stringify(join(node.kubelet, "other"))}, "")`,
    `fs.writeFileSync(${JSON.stringify(join(node.kubelet, "config.json.tmp"))}, "")`,
    `fs.mkdirSync(${JSON.stringify(join(node.kubelet, "pods"))})`,
    `fs.writeFileSync(${JSON.stringify(join(node.secret, "revision"))}, "")`,
    `fs.symlinkSync("/etc/passwd", ${JSON.stringify(join(node.folder, "link"))})`,
    'fs.writeFileSync("/tmp/x", "")',
    'require("child_process").spawnSync("/bin/true").error && (() => { throw spawned.error })()',
    'new (require("worker_threads").Worker)("1", { eval: true })',
  ];
  writeFileSync(
    script,
    `const fs = require("fs"); let got = [];
for (const one of ${JSON.stringify(attempts)}) try { eval(one); got.push(one); } catch {}
console.log(JSON.stringify(got));`,
  );
  const { stdout, stderr } = spawnSync(process.execPath, [...nodeFlags(node, "/nowhere"), script], {
    encoding: "utf8",
  });
  rmSync(elsewhere, { recursive: true });
  assert.deepEqual(JSON.parse(stdout), [], stderr);
});

test("fits a Secret and a node's file of nearly 1 MiB each into the heap that the DaemonSet allows", async () => {
  using node = new NodeDirectory();
  await using systemd = await ScriptedSystemd.start(node.systemd);
  const theirs = Object.entries(many("n")).map(
    ([key, password]) => [key, { auth: encode(password) }] as const,
  );
  writeFileSync(node.config, JSON.stringify({ auths: Object.fromEntries(theirs) }));
  const options = { healthzPort: systemd.healthzPort };
  let peak = 0;
  for (const revision of [1, 2]) {
    node.mount(revision, { additional: many(`s${revision}-`) });
    await using agent = await AgentProcess.start(node, { ...options, revision });
    await agent.proves();
    assert.equal(Object.keys(JSON.parse(node.file ?? "").auths).length, 1800);
    peak = Math.max(
      peak,
      Number(
        /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${agent.child.pid}/status`, "utf8"))?.[1],
      ),
    );
  }
  // The peak includes 40 to 50 MiB of unchanged pages of the program Node.js. A memory cgroup does
  // not count all of these pages.
  assert.ok(peak < 128 * 1024, `${peak} kB`);
});

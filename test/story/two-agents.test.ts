/**
 * Two agents on one node, as during an update or after a forced deletion of a pod. The agents are
 * real processes of the bundle; systemd is scripted.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { theirsPrefix } from "#agent/journal/journal.ts";
import { AgentProcess, digestFor, encode, inTime, NodeDirectory } from "../harness/agent/agent.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

const secret = { additional: { "a.io": "password" } };
const digest = digestFor(1, secret);
const written = { auths: { "a.io": { auth: encode("password") } } };
const skip = process.platform !== "linux" && "the agent needs Linux's /proc";

async function place(t: TestContext) {
  const node = new NodeDirectory();
  t.after(() => node[Symbol.dispose]());
  const systemd = await ScriptedSystemd.start(node.systemd);
  t.after(() => systemd[Symbol.asyncDispose]());
  const start = () =>
    AgentProcess.start(node, { revision: 1, digest, healthzPort: systemd.healthzPort });
  const locks = () => readdirSync(node.folder).filter((name) => name.startsWith("lock-"));
  return { node, systemd, start, locks };
}

test(
  "lets only one of two agents write and restart when both get the revision at the same time",
  { skip },
  async (t) => {
    const { node, systemd, start, locks } = await place(t);
    await using first = await start();
    await using other = await start();
    // Neither agent has created the folder of the lock yet.
    for (const agent of [first, other]) await agent.shows("GPS20");
    node.mount(1, secret);
    const isProved = (agent: AgentProcess) => agent.output.includes("GPS200");
    const waits = (agent: AgentProcess) => agent.output.includes("GPS205");
    const shared = () => (isProved(first) && waits(other)) || (isProved(other) && waits(first));
    assert.ok(await inTime(shared, 30_000), `${first.output}\n${other.output}`);
    assert.equal(systemd.restartCalls, 1);
    assert.equal(locks().length, 1);
    const [holder, waiting] = isProved(first) ? [first, other] : [other, first];
    assert.equal(await holder.end("SIGTERM"), 0);
    await waiting.proves();
    assert.equal(systemd.restartCalls, 1);
    assert.deepEqual(JSON.parse(node.file ?? ""), written);
  },
);

test(
  "changes nothing if another agent takes the lock during the agent's first check",
  { skip },
  async (t) => {
    const { node, systemd, start } = await place(t);
    const other = createServer();
    t.after(() => other[Symbol.asyncDispose]());
    // The first check finds no folder, and therefore no other agent. Then the agent queries
    // systemd.
    systemd.onCall = () => {
      if (existsSync(node.folder)) return;
      mkdirSync(node.folder, { mode: 0o700 });
      other.listen(join(node.folder, "lock-other"));
    };
    node.mount(1, secret);
    await using agent = await start();
    await agent.shows("GPS205");
    assert.deepEqual([node.file, node.kept, systemd.restartCalls], [undefined, [], 0]);
  },
);

for (const signal of ["SIGTERM", "SIGINT"] as const)
  test(`ends with code 0 and leaves no lock behind on ${signal}`, { skip }, async (t) => {
    const { node, start, locks } = await place(t);
    node.mount(1, secret);
    await using agent = await start();
    await agent.proves();
    assert.equal(locks().length, 1);
    assert.equal(await agent.end(signal), 0);
    assert.deepEqual(locks(), []);
  });

test("removes unfinished files of a killed agent", { skip }, async (t) => {
  const { node, start } = await place(t);
  node.mount(1, secret);
  {
    await using killed = await start();
    await killed.proves();
  }
  const names = ["config.json.staged", `${theirsPrefix}${"0".repeat(64)}`];
  const leftovers = names.map((name) => join(node.folder, name));
  for (const file of leftovers) writeFileSync(file, "{}");
  await using next = await start();
  await next.proves();
  for (const file of leftovers) assert.ok(!existsSync(file), file);
});

/** One agent process that serves a thousand revisions, and an unfit node. */
import assert from "node:assert/strict";
import { linkSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { AgentProcess, inTime, NodeDirectory } from "../harness/agent/agent.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

const skip = process.platform !== "linux" && "the agent needs Linux's /proc";

async function place(t: TestContext, ...nodeFlags: readonly string[]) {
  const node = new NodeDirectory();
  const systemd = await ScriptedSystemd.start(node.systemd);
  t.after(async () => {
    await systemd[Symbol.asyncDispose]();
    node[Symbol.dispose]();
  });
  const start = () =>
    AgentProcess.start(node, {
      healthzPort: systemd.healthzPort,
      flags: ["--probation=0s"],
      nodeFlags,
    });
  return { node, systemd, start };
}

/** The memory that only this process uses, in kB. */
function memoryOf(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1]);
}

/**
 * The test takes the lowest memory over this many revisions, because memory grows until V8 collects
 * garbage.
 */
const window = 60;

test("serves 1,000 revisions in one process without growing memory", { skip }, async (t) => {
  const { node, systemd, start } = await place(t, "--max-old-space-size=16");
  await using agent = await start();
  const least = async (from: number, to: number) => {
    let memory = Number.POSITIVE_INFINITY;
    for (let revision = from; revision <= to; revision += 1) {
      // Every tenth revision has another password, so that the agent restarts the kubelet.
      const password = String(Math.floor(revision / 10) % 7);
      node.mount(revision, { additional: { "a.io": password } });
      node.ask(revision);
      const isProved = () => node.api?.reports.at(-1)?.attempt === revision;
      assert.ok(
        await inTime(isProved, 30_000),
        `revision ${revision}\n${agent.output.slice(-2000)}`,
      );
      if (to - revision < window) memory = Math.min(memory, memoryOf(agent.child.pid));
    }
    return memory;
  };
  const early = await least(1, 200);
  const late = await least(201, 1000);
  t.diagnostic(`${early} kB at revision 200, ${late} kB at revision 1,000`);
  assert.equal(agent.child.exitCode, null);
  // The C library's heap grows once by 4 MiB after revision 200, and no more. V8's heap stops
  // growing at revision 150. A leak of 8 kB per revision would exceed the bound.
  assert.ok(late / early < 1.3, `${early} kB at revision 200, ${late} kB at revision 1,000`);
  assert.equal(systemd.restartCalls, 101, "one restart for each content");
});

test(
  "refuses an order on an unfit node once, and tries again only for a new attempt",
  { skip },
  async (t) => {
    const { node, systemd, start } = await place(t);
    writeFileSync(node.config, "{}");
    const second = join(node.root, "second-name");
    linkSync(node.config, second);
    node.mount(1, { additional: { "a.io": "one" } });
    for (const attempt of [1, 2]) {
      node.ask(1, { attempt });
      {
        await using refusing = await start();
        await refusing.shows("GPS206");
        const answer = () => node.api?.reports.at(-1);
        assert.ok(await inTime(() => answer()?.attempt === attempt, 30_000));
        assert.deepEqual([answer()?.result, answer()?.code], ["Refused", "GPS206"]);
      }
      unlinkSync(second);
      await using next = await start();
      await next.shows("GPS201");
      linkSync(node.config, second);
    }
    assert.deepEqual([node.file, systemd.restartCalls], ["{}", 0]);
    assert.equal(node.api?.reports.length, 2);
  },
);

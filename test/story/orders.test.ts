/**
 * One node and many orders, with the agent's bundle as a real process on real files, a scripted
 * systemd and a scripted API server. The agent starts again only after a kill. Each step continues
 * from the previous step.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { AgentProcess, encode, inTime, NodeDirectory } from "../harness/agent/agent.ts";
import { digestFor, servedFilesFor } from "../harness/agent/mounted.ts";
import { comesBack, crashes, ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";
import { steps } from "../harness/agent/steps.ts";

const notLinux = process.platform !== "linux" && "the agent needs Linux's /proc";
const endsWithin = 30_000;
const secret = (password: string) => ({ additional: { "a.io": `planted${password}` } });
const fileOf = (password: string) => ({
  auths: { "a.io": { auth: encode(`planted${password}`) } },
});
describe("one node and its orders", { concurrency: 1, skip: notLinux }, () => {
  const node = new NodeDirectory();
  let systemd: ScriptedSystemd;
  let agent: AgentProcess;
  let attempt = 0;

  const start = async () => {
    agent = await AgentProcess.start(node, { healthzPort: systemd.healthzPort });
  };
  before(async () => {
    systemd = await ScriptedSystemd.start(node.systemd);
    node.mount(1, secret("1"));
    await start();
  });
  after(async () => {
    await agent[Symbol.asyncDispose]();
    await systemd[Symbol.asyncDispose]();
    node[Symbol.dispose]();
  });

  const step = steps();
  const ask = (revision: number) => node.ask(revision, { attempt: ++attempt });
  const read = () => JSON.parse(node.file ?? "null");
  const restartsIn = async (run: () => Promise<unknown>) => {
    const calls = systemd.restartCalls;
    await run();
    return systemd.restartCalls - calls;
  };
  /** Kills the agent, and starts it again like the kubelet. */
  const again = async () => {
    agent.child.kill("SIGKILL");
    assert.equal(await agent.ended(endsWithin), "SIGKILL");
    await start();
  };
  const reports = () =>
    node.api?.reports.map(({ result, revision, attempt: of }) => [result, revision, of]) ?? [];

  test(
    "writes and restarts nothing without an order if no content is served",
    step(async () => {
      assert.equal(await restartsIn(() => agent.shows("GPS201")), 0);
      assert.equal(node.file, undefined);
      assert.ok(await inTime(() => existsSync(node.folder) && node.kept.includes("journal.json")));
    }),
  );

  test(
    "follows its order in the same process, and restarts the kubelet once",
    step(async () => {
      ask(1);
      const { pid } = agent.child;
      assert.equal(await restartsIn(() => agent.proves()), 1);
      assert.deepEqual([read(), agent.child.pid], [fileOf("1"), pid]);
    }),
  );

  test(
    "waits for the Secret if the order comes first, and for the order if the Secret comes first",
    step(async () => {
      node.ask(2, { attempt: ++attempt, digest: digestFor(2, secret("2")) });
      node.mount(2, secret("2"));
      assert.equal(await restartsIn(() => agent.proves()), 1);
      node.mount(3, secret("3"));
      await again();
      assert.equal(await restartsIn(() => agent.shows("GPS200")), 0);
      assert.deepEqual(read(), fileOf("2"));
    }),
  );

  test(
    "reports each result once, also after a kill, and again for a new attempt",
    step(async () => {
      ask(3);
      assert.equal(await restartsIn(() => agent.proves()), 1);
      await again();
      await agent.proves();
      assert.deepEqual(reports().slice(-2), [
        ["Proved", 2, 2],
        ["Proved", 3, 3],
      ]);
      ask(3);
      const isAnswered = () => node.api?.reports.at(-1)?.attempt === attempt;
      assert.equal(await restartsIn(async () => assert.ok(await inTime(isAnswered))), 0);
    }),
  );

  test(
    "restarts the kubelet if a process was killed between the write of the file and the restart",
    step(async () => {
      const old = node.file;
      node.mount(4, secret("4"));
      systemd.onCall = () => node.file !== old && agent.child.kill("SIGKILL");
      ask(4);
      assert.equal(await agent.ended(endsWithin), "SIGKILL");
      systemd.onCall = () => {};
      await start();
      assert.equal(await restartsIn(() => agent.proves()), 1);
      assert.deepEqual(read(), fileOf("4"));
    }),
  );

  test(
    "restores the old file when the kubelet fails, and tries the content again only for a new attempt",
    step(async () => {
      systemd.startLimitMicros = 200_000n;
      systemd.script = [crashes, crashes, crashes, comesBack];
      node.mount(5, secret("5"));
      ask(5);
      assert.equal(await restartsIn(() => agent.fails(endsWithin)), 4);
      assert.deepEqual(read(), fileOf("4"));
      const keeps = async () => {
        await again();
        await agent.shows("GPS200");
      };
      assert.equal(await restartsIn(keeps), 0);
      assert.deepEqual(reports().at(-1), ["Failed", 5, attempt]);
      ask(5);
      assert.equal(await restartsIn(() => agent.proves()), 1);
      assert.deepEqual(read(), fileOf("5"));
    }),
  );

  test(
    "keeps its content when its order disappears, and ignores an order of a lower revision",
    step(async () => {
      const { length } = reports();
      for (const revision of [0, 2]) {
        node.mount(2, secret("2"));
        ask(revision);
        await again();
        assert.equal(await restartsIn(() => agent.shows("GPS200")), 0);
      }
      assert.deepEqual(read(), fileOf("5"));
      assert.deepEqual(reports().slice(length), []);
    }),
  );

  test(
    "without an order, finishes the change that an earlier process began",
    step(async () => {
      systemd.script = [crashes, crashes, crashes, comesBack];
      systemd.onCall = (member) => member === "RestartUnit" && agent.child.kill("SIGKILL");
      node.mount(6, secret("6"));
      ask(6);
      assert.equal(await agent.ended(endsWithin), "SIGKILL");
      systemd.onCall = () => {};
      ask(0);
      await start();
      await agent.shows("GPS218", endsWithin);
      await agent.shows("GPS200");
      assert.deepEqual(read(), fileOf("5"));
    }),
  );

  test(
    "removes one registry at once when it leaves the content, without an order or a restart",
    step(async () => {
      systemd.script = [comesBack];
      const two = { additional: { "a.io": "planted7", "b.io": "planted7" } };
      node.mount(7, two);
      ask(7);
      await agent.proves();
      node.mount(8, secret("8"));
      const isRemoved = () => node.file?.includes("b.io") === false;
      assert.equal(await restartsIn(async () => assert.ok(await inTime(isRemoved))), 0);
      assert.deepEqual(read(), fileOf("7"));
    }),
  );

  test(
    "removes everything of ours without an order or a restart, reports it, and leaves no folder",
    step(async () => {
      node.mount(9, {}, servedFilesFor(0, "same"));
      assert.equal(await restartsIn(() => agent.removes()), 0);
      assert.deepEqual(reports().at(-1)?.slice(0, 2), ["Removed", 9]);
      assert.ok(!existsSync(node.folder));
      assert.equal(node.file, undefined);
    }),
  );

  test(
    "takes the served content without an order on a node without a journal",
    step(async () => {
      ask(0);
      node.mount(11, secret("11"), servedFilesFor(10, secret("10")));
      assert.equal(await restartsIn(() => agent.proves()), 1);
      assert.deepEqual(read(), fileOf("10"));
      node.mount(11, secret("11"), servedFilesFor(11, "same"));
      await again();
      assert.equal(await restartsIn(() => agent.shows("GPS200")), 0);
      assert.deepEqual(read(), fileOf("10"));
    }),
  );

  test(
    "prints no credential in its log or its reports",
    step(async () => {
      const reported = agent.output + JSON.stringify(node.api?.reports);
      for (const code of ["GPS200", "GPS218", "GPS224"]) assert.match(reported, new RegExp(code));
      assert.ok(!reported.includes("planted") && !reported.includes("dXNlcjpwbGFudGVk"));
    }),
  );
});

/**
 * One pod and many grants, with the agent's bundle as a real process on real files, and a scripted
 * systemd. The agent starts again only after a termination message, a kill or a failure has ended
 * its container. Each step continues from the previous step.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { parseMessage } from "#contract/termination-message.ts";
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
/** A time as the API writes it: without fractions of a second. */
const thisSecond = () => `${new Date().toISOString().slice(0, 19)}Z`;

describe("one pod and its grants", { concurrency: 1, skip: notLinux }, () => {
  const node = new NodeDirectory();
  let systemd: ScriptedSystemd;
  let agent: AgentProcess;
  let reported = "";
  let since = "";

  const start = async () => {
    agent = await AgentProcess.start(node, { healthzPort: systemd.healthzPort });
  };
  before(async () => {
    node.newPod();
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
  const grant = (revision: number, word = false) => {
    since = thisSecond();
    node.grant(revision, { since, word });
  };
  const isReady = (code = "GPS200") => agent.shows(200, code);
  const read = () => JSON.parse(node.file ?? "null");
  const restartsIn = async (run: () => Promise<unknown>) => {
    const calls = systemd.restartCalls;
    await run();
    return systemd.restartCalls - calls;
  };
  /** Waits until the container has ended, and starts the container again, like the kubelet. */
  const ends = async (code: number | string) => {
    assert.equal(await agent.ended(endsWithin), code);
    reported += agent.output + node.message;
    const word = parseMessage(node.message);
    await start();
    return word;
  };
  const kindOf = (kind: string, revision: number, journal = revision) => ({
    kind,
    grant: { revision, digest: node.digest(revision), since },
    journal,
  });

  test(
    "writes and restarts nothing without a grant if no content is served",
    step(async () => {
      assert.equal(await restartsIn(() => isReady("GPS201")), 0);
      assert.equal(node.file, undefined);
      assert.deepEqual(node.kept, ["journal.json"]);
    }),
  );

  test(
    "fulfils its grant in the same process, and restarts the kubelet once",
    step(async () => {
      grant(1);
      const { pid } = agent.child;
      assert.equal(await restartsIn(() => isReady()), 1);
      assert.deepEqual([read(), agent.child.pid], [fileOf("1"), pid]);
    }),
  );

  test(
    "waits for the Secret if the grant comes first, and for the grant if the Secret comes first",
    step(async () => {
      since = thisSecond();
      node.grant(2, { since, digest: digestFor(2, secret("2")) });
      await agent.shows("5nn", "GPS203");
      node.mount(2, secret("2"));
      assert.equal(await restartsIn(() => isReady()), 1);
      node.mount(3, secret("3"));
      assert.equal(await restartsIn(() => isReady()), 0);
      assert.deepEqual(read(), fileOf("2"));
    }),
  );

  test(
    "proves a grant by termination message if the grant requests the message, and again after a kill",
    step(async () => {
      grant(3, true);
      assert.equal(
        await restartsIn(async () => assert.deepEqual(await ends(0), kindOf("proved", 3))),
        1,
      );
      const again = async () => {
        await isReady();
        agent.child.kill("SIGKILL");
        assert.equal(await agent.ended(endsWithin), "SIGKILL");
        await start();
        assert.deepEqual(await ends(0), kindOf("proved", 3));
        await isReady();
      };
      assert.equal(await restartsIn(again), 0);
    }),
  );

  test(
    "when the same content gets a new since, turns NotReady, and turns Ready again only in a later second than since",
    step(async () => {
      const seen = new Set<number>();
      grant(3);
      const later = async () => {
        const { status, body } = await agent.probe();
        if (status !== 200) seen.add(status);
        if (body.includes("GPS258")) return false;
        return status === 200 && seen.size > 0 && thisSecond() !== since;
      };
      assert.equal(await restartsIn(async () => assert.ok(await inTime(later))), 0);
      assert.ok([...seen].includes(558));
    }),
  );

  test(
    "restarts the kubelet if a process was killed between the write of the file and the restart",
    step(async () => {
      const old = node.file;
      node.mount(4, secret("4"));
      systemd.onCall = () => node.file !== old && agent.child.kill("SIGKILL");
      grant(4);
      assert.equal(await agent.ended(endsWithin), "SIGKILL");
      systemd.onCall = () => {};
      await start();
      assert.equal(await restartsIn(() => isReady()), 1);
      assert.deepEqual(read(), fileOf("4"));
    }),
  );

  test(
    "restores the old file when the kubelet fails, and tries the content again only for a new since",
    step(async () => {
      systemd.startLimitMicros = 200_000n;
      systemd.script = [crashes, crashes, crashes, comesBack];
      node.mount(5, secret("5"));
      grant(5);
      const fails = async () => assert.deepEqual(await ends(1), kindOf("failed", 5, 4));
      assert.equal(await restartsIn(fails), 4);
      assert.deepEqual(read(), fileOf("4"));
      const dead = async () => {
        await agent.shows("5nn", "GPS219");
        agent.child.kill("SIGKILL");
        assert.equal(await agent.ended(endsWithin), "SIGKILL");
        await start();
        assert.deepEqual(await ends(1), kindOf("failed", 5, 4));
        await agent.shows("5nn", "GPS219");
      };
      assert.equal(await restartsIn(dead), 0);
      await inTime(() => thisSecond() !== since);
      grant(5);
      assert.equal(await restartsIn(() => isReady()), 1);
      assert.deepEqual(read(), fileOf("5"));
    }),
  );

  test(
    "keeps its content when its grant is revoked, and refuses a grant of a lower revision by termination message",
    step(async () => {
      grant(0);
      assert.equal(await restartsIn(() => isReady()), 0);
      node.mount(2, secret("2"));
      grant(2);
      assert.deepEqual(await ends(3), kindOf("behind", 2, 5));
      await agent.shows("5nn", "GPS256");
      assert.deepEqual(read(), fileOf("5"));
    }),
  );

  test(
    "without a grant, finishes the change that a deleted pod began, and reports that this change has failed",
    step(async () => {
      systemd.script = [crashes, crashes, crashes, comesBack];
      systemd.onCall = (member) => member === "RestartUnit" && agent.child.kill("SIGKILL");
      node.mount(6, secret("6"));
      grant(6);
      assert.equal(await agent.ended(endsWithin), "SIGKILL");
      systemd.onCall = () => {};
      node.newPod();
      node.ungrant();
      await start();
      assert.deepEqual(await ends(1), kindOf("failed", 6, 5));
      await isReady();
      assert.deepEqual(read(), fileOf("5"));
    }),
  );

  test(
    "removes everything of ours, confirms the removal by termination message, and leaves no folder",
    step(async () => {
      node.mount(7, {}, servedFilesFor(0, "same"));
      grant(7);
      assert.equal(
        await restartsIn(async () => assert.equal((await ends(0))?.kind, "released")),
        1,
      );
      await isReady("GPS224");
      assert.ok(!existsSync(node.folder));
      assert.equal(node.file, undefined);
    }),
  );

  test(
    "takes the served content without a grant on a node without a journal",
    step(async () => {
      node.ungrant();
      await isReady("GPS201");
      node.mount(9, secret("9"), servedFilesFor(8, secret("8")));
      assert.equal(await restartsIn(() => isReady()), 1);
      assert.deepEqual(read(), fileOf("8"));
      node.mount(9, secret("9"), servedFilesFor(9, "same"));
      assert.equal(await restartsIn(() => isReady()), 0);
      assert.deepEqual(read(), fileOf("8"));
      reported += agent.output;
    }),
  );

  test(
    "prints no credential in its log or its termination messages",
    step(async () => {
      for (const code of ["GPS200", "GPS218", "GPS224", "GPS256"])
        assert.match(reported, new RegExp(code));
      assert.ok(!reported.includes("planted") && !reported.includes("dXNlcjpwbGFudGVk"));
    }),
  );
});

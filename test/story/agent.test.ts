/**
 * The life of one node, with the agent's bundle as a real process on real files, and a scripted
 * systemd. Each step continues from the previous step.
 */
import assert from "node:assert/strict";
import { chmodSync, existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { helpIn } from "#contract/help.ts";
import { AgentProcess, digestFor, encode, inTime, NodeDirectory } from "../harness/agent/agent.ts";
import { nodeFlags, withoutCapabilities } from "../harness/agent/deployed.ts";
import { comesBack, crashes, ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";
import { steps } from "../harness/agent/steps.ts";

/** Every password begins with the first text, every `auth` in config.json with the second. */
const [planted, plantedAuth] = ["planted", "dXNlcjpwbGFudGVk"];

const secret = (password: string) => ({ additional: { "a.io": planted + password } });

/**
 * The content of config.json with the entry from this Secret, beside the entries of other programs.
 */
const fileOf = (password: string, others: object = {}) => ({
  auths: { ...others, "a.io": { auth: encode(planted + password) } },
});

const theirs = { "theirs.io": { auth: encode(`${planted}-theirs`) } };
const notLinux = process.platform !== "linux" && "the agent needs Linux's /proc";
const keepsCapabilities = withoutCapabilities.length === 0 && "needs root and util-linux's setpriv";

/** Milliseconds. The slowest test, three failed restarts, takes about 3 s on an idle machine. */
const endsWithin = 30_000;

function story(): void {
  const node = new NodeDirectory();
  let systemd: ScriptedSystemd;
  /** All log lines and reports of all agents. */
  let reported = "";

  before(async () => void (systemd = await ScriptedSystemd.start(node.systemd)));
  after(async () => {
    await systemd[Symbol.asyncDispose]();
    node[Symbol.dispose]();
  });

  const step = steps();

  /** Runs an agent with this order. Returns how many kubelet restarts it requested. */
  async function live(
    revision: number,
    run: (agent: AgentProcess) => Promise<unknown>,
    digest = node.digest(revision),
  ): Promise<number> {
    const restarts = systemd.restartCalls;
    const options = { revision, digest, healthzPort: systemd.healthzPort };
    await using agent = await AgentProcess.start(node, options);
    try {
      await run(agent);
    } finally {
      reported += agent.output + JSON.stringify(node.api?.reports);
    }
    return systemd.restartCalls - restarts;
  }

  const isProved = (agent: AgentProcess) => agent.proves();
  const read = () => JSON.parse(node.file ?? "null");

  test(
    "H17: writes the file, restarts the kubelet once, and reports the proof when the kubelet answers",
    step(async () => {
      node.mount(1, secret("1"));
      systemd.script = [{ ...comesBack, healthy: false }, comesBack];
      const restarts = await live(1, async (agent) => {
        await agent.shows("GPS213");
        systemd.healthy = true;
        await isProved(agent);
        assert.equal(await agent.end("SIGTERM"), 0);
        await agent.shows("GPS227");
        for (const line of agent.output.trimEnd().split("\n")) {
          const { time, node: name, msg, help } = JSON.parse(line);
          assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
          assert.deepEqual([name, help], ["node1", helpIn(msg)]);
        }
        assert.match(agent.output, /"revision":1,"action":"restart",.*"msg":"job done"/);
      });
      assert.deepEqual(read(), fileOf("1"));
      assert.equal(lstatSync(node.config).mode & 0o777, 0o600);
      assert.equal(restarts, 1);
    }),
  );

  test(
    "H19: writes nothing and restarts nothing for a revision with the same content",
    step(async () => {
      const old = lstatSync(node.config, { bigint: true });
      node.mount(2, secret("1"));
      assert.equal(await live(2, isProved), 0);
      const { ino, mtimeNs, ctimeNs } = lstatSync(node.config, { bigint: true });
      assert.deepEqual([ino, mtimeNs, ctimeNs], [old.ino, old.mtimeNs, old.ctimeNs]);
    }),
  );

  test(
    "H16: keeps another program's entry, and writes our entry again",
    step(async () => {
      await live(2, async (agent) => {
        await isProved(agent);
        writeFileSync(node.config, JSON.stringify({ auths: theirs }));
        assert.ok(await inTime(() => node.file?.includes(encode(`${planted}1`)) === true));
        await agent.shows("GPS254");
      });
      assert.deepEqual(read(), fileOf("1", theirs));
    }),
  );

  test(
    "H15: keeps its content until the ordered revision is published, and then applies it",
    step(async () => {
      const old = node.file;
      const rotated = async (agent: AgentProcess) => {
        // The kubelet still has to reread the entry that was repaired.
        await agent.shows("GPS254");
        assert.equal(node.file, old);
        node.mount(3, secret("3"));
        await isProved(agent);
      };
      assert.equal(await live(3, rotated, digestFor(3, secret("3"))), 1);
      assert.deepEqual(read(), fileOf("3", theirs));
    }),
  );

  test(
    "H18: restores the old file after three failed restarts, and does not retry",
    step(async () => {
      const old = node.file;
      systemd.startLimitMicros = 200_000n;
      systemd.script = [crashes, crashes, crashes, comesBack];
      node.mount(4, secret("4"));
      const fails = (agent: AgentProcess) => agent.fails(endsWithin);
      assert.equal(await live(4, fails), 4);
      assert.equal(node.file, old);
      const keeps = async (agent: AgentProcess) => void (await agent.shows("GPS200"));
      assert.equal(await live(4, keeps), 0);
      assert.equal(node.file, old);
    }),
  );

  test(
    "H17: restarts the kubelet if the previous agent was killed after it wrote the file",
    step(async () => {
      const old = node.file;
      node.mount(5, secret("5"));
      const killed = async (agent: AgentProcess) => {
        systemd.onCall = () => node.file !== old && agent.child.kill("SIGKILL");
        assert.equal(await agent.ended(endsWithin), "SIGKILL");
        systemd.onCall = () => {};
      };
      assert.equal(await live(5, killed), 0);
      assert.deepEqual(read(), fileOf("5", theirs));
      assert.equal(await live(5, isProved), 1);
    }),
  );

  test(
    "without an order, keeps the node's content and repairs a drift",
    step(async () => {
      const own = node.file;
      node.mount(6, secret("6"));
      const restarts = await live(0, async (agent) => {
        await isProved(agent);
        assert.equal(node.file, own);
        writeFileSync(node.config, JSON.stringify({ auths: theirs }));
        await agent.shows("GPS254");
      });
      assert.deepEqual([node.file, restarts], [own, 0]);
    }),
  );

  test(
    "H20: removes its entry and its folder when the credential is withdrawn",
    step(async () => {
      node.mount(8, {});
      for (const revision of [0, 8])
        assert.equal(await live(revision, (agent) => agent.removes()), 0);
      assert.deepEqual(read(), { auths: theirs });
      assert.ok(!existsSync(node.folder));
    }),
  );

  test(
    "H20: restores exactly the bytes and the mode of another program's file",
    step(async () => {
      const bytes = `{ "auths": {"a.io": {"auth": "${encode(`${planted}-theirs`)}"} } }\n`;
      writeFileSync(node.config, bytes);
      chmodSync(node.config, 0o640);
      node.mount(9, secret("9"));
      await live(9, isProved);
      assert.deepEqual(read(), fileOf("9"));
      node.mount(10, {});
      await live(10, (agent) => agent.removes());
      assert.equal(node.file, bytes);
      assert.equal(lstatSync(node.config).mode & 0o777, 0o640);
      assert.ok(!existsSync(node.folder));
    }),
  );

  test(
    "prints no credential in its log or its reports",
    step(async () => {
      for (const code of ["GPS200", "GPS218", "GPS224"]) assert.match(reported, new RegExp(code));
      assert.ok(!reported.includes(planted) && !reported.includes(plantedAuth));
    }),
  );
}

/** Replaces a skipped suite by one skipped test, because the runner lists only tests. */
function unless(skip: string | false, name: string, concurrency: number, tests: () => void): void {
  if (skip) test(name, { skip });
  else describe(name, { concurrency }, tests);
}

/**
 * A script that Node loads before the agent. Both clocks stand still, and SIGUSR2 sets the
 * monotonic clock to the next of these times, in milliseconds.
 */
const scriptedClock = (...times: readonly number[]) => `
  const times = ${JSON.stringify(times)};
  let now = 0;
  performance.now = () => now;
  const start = Date.now();
  Date.now = () => start;
  process.on("SIGUSR2", () => console.log("clock: " + (now = times.shift())));
`;

/** Starts an agent with revision 1 and this clock. */
async function clocked(node: NodeDirectory, healthzPort: number, ...times: readonly number[]) {
  const script = encodeURIComponent(scriptedClock(...times));
  const nodeFlags = [`--import=data:text/javascript,${script}`];
  return await AgentProcess.start(node, { revision: 1, healthzPort, nodeFlags });
}

/** Sets the agent's clock to the next time. */
async function pass(agent: AgentProcess): Promise<void> {
  agent.child.kill("SIGUSR2");
  await agent.shows("clock: ");
}

unless(notLinux, "one agent on one node", 2, () => {
  unless(false, "its life", 1, story);

  test("reports that the kubelet does not work when this has lasted for ten seconds, and not before", async () => {
    using node = new NodeDirectory();
    await using systemd = await ScriptedSystemd.start(node.systemd);
    systemd.healthy = false;
    node.mount(1, secret("1"));
    await using agent = await clocked(node, systemd.healthzPort, 9900, 10_100);
    const passTwoRounds = async () => {
      const rounds = systemd.rounds + 2;
      assert.ok(await inTime(() => systemd.rounds >= rounds), agent.output);
    };
    // The refusal of the order begins when the agent has received the order.
    assert.ok(await inTime(() => node.api?.watched() === 2));
    await passTwoRounds();
    await pass(agent);
    await passTwoRounds();
    assert.deepEqual(node.api?.reports, []);
    await pass(agent);
    assert.ok(await inTime(() => node.api?.reports.length === 1), agent.output);
    assert.partialDeepStrictEqual(node.api?.reports[0], { result: "Refused", code: "GPS221" });
  });

  test("replaces an unreadable file, and repairs a drift soon after its own write, when its clock has passed the limits", async () => {
    using node = new NodeDirectory();
    await using systemd = await ScriptedSystemd.start(node.systemd);
    writeFileSync(node.config, "{");
    node.mount(1, secret("1"));
    await using agent = await clocked(node, systemd.healthzPort, 2100, 3200);
    await agent.shows("GPS207");
    assert.equal(node.file, "{");
    await pass(agent);
    await agent.proves();
    const isRepaired = () => node.file?.includes(encode(`${planted}1`)) === true;
    writeFileSync(node.config, JSON.stringify({ auths: theirs }));
    await agent.shows("GPS225");
    assert.ok(!isRepaired());
    await pass(agent);
    assert.ok(await inTime(isRepaired), agent.output);
  });

  test(
    "runs without capabilities and with the DaemonSet's flags",
    { skip: keepsCapabilities },
    async () => {
      using node = new NodeDirectory();
      node.mount(1, {});
      await using agent = await AgentProcess.start(node, { revision: 1, healthzPort: 1 });
      await agent.shows("GPS2");
      const proc = `/proc/${agent.child.pid}`;
      const status = readFileSync(`${proc}/status`, "utf8");
      for (const set of ["CapPrm", "CapEff", "CapBnd"])
        assert.match(status, new RegExp(`^${set}:\\t0{16}$`, "m"));
      assert.match(status, /^NoNewPrivs:\t1$/m);
      assert.match(status, /^Uid:\t0\t/m);
      const [, ...words] = readFileSync(`${proc}/cmdline`, "utf8").split("\0");
      const flags = nodeFlags(node, node.api?.credentials ?? "");
      assert.deepEqual(words.slice(0, flags.length), flags);
      assert.match(words[flags.length] ?? "", /\/dist\/agent\.cjs$/);
    },
  );
});

/**
 * The connection to the bus dies, or falls silent, after any one message: what was asked is never
 * taken for not asked, and the restart that is owed is made once.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { CouldNotAsk } from "#agent/systemd/bus.ts";
import { systemdOver } from "#agent/systemd/systemd.ts";
import { AgentProcess, NodeDirectory, inTime } from "../harness/agent/agent.ts";
import { startBus } from "../harness/agent/bus.ts";
import { content, ours } from "./place.ts";
import { type Cut, Relay } from "./relay.ts";
import { sample } from "../sample.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

async function behind(node: NodeDirectory, cut: Cut) {
  const bus = await startBus(join(node.root, "bus"));
  const systemd = await ScriptedSystemd.start(bus.address);
  const relay = await Relay.between(node.dbus, bus.directory, cut);
  const end = async () => {
    for (const one of [relay, systemd, bus]) await one[Symbol.asyncDispose]();
  };
  return { systemd, relay, [Symbol.asyncDispose]: end };
}

/** Cuts every conversation after each of its messages in turn. */
async function cutEverywhere(cut: Cut): Promise<void> {
  using node = new NodeDirectory();
  await using place = await behind(node, cut);
  const { systemd, relay } = place;
  // Each silence lasts as long; far more than a busy machine needs for a whole conversation.
  const deadline = cut === "falls silent" ? 3000 : 60_000;
  const deadlines = { question: deadline, job: deadline };
  const open = systemdOver(node.dbus, new AbortController().signal, deadlines);
  const seen = { refused: 0, unknown: 0, asked: 0 };
  for (let message = 1; ; message += 1) {
    relay.cutAfter = relay.passed + message;
    const calls = systemd.restartCalls;
    const answer = await open.restart("kubelet.service", async () => {});
    if (relay.passed < relay.cutAfter) {
      assert.deepEqual(answer, { result: "done" }, "not cut, and not the whole conversation");
      break;
    }
    // What was sent arrives, though nobody waits for the answer.
    const asked =
      "result" in answer
        ? await inTime(() => systemd.restartCalls > calls)
        : systemd.restartCalls > calls;
    if ("refused" in answer)
      assert.ok(answer.refused instanceof CouldNotAsk, `${message}: ${answer.refused}`);
    else assert.equal(answer.result, "unknown", String(message));
    assert.ok(
      !(asked && "refused" in answer),
      `after message ${message} a restart was made and is not known of`,
    );
    seen.refused += Number("refused" in answer);
    seen.unknown += Number("result" in answer);
    seen.asked += Number(asked);
  }
  // AUTH, BEGIN with Hello, AddMatch, Subscribe; then RestartUnit.
  assert.ok(seen.refused >= 4, JSON.stringify(seen));
  assert.deepEqual([seen.unknown, seen.asked], [1, 1]);
  for (let message = 1; ; message += 1) {
    relay.cutAfter = relay.passed + message;
    const answer = await open.unit("kubelet.service").catch((error: unknown) => error);
    if (relay.passed < relay.cutAfter) {
      assert.ok(
        !(answer instanceof Error),
        `not cut, and not the whole conversation: ${String(answer)}`,
      );
      break;
    }
    assert.ok(answer instanceof CouldNotAsk, String(message));
  }
  assert.ok(!systemd.calls.includes("CancelJob"));
}

test("a bus that hangs up after any message: could not ask, or asked and the end not seen; never the one for the other", () =>
  cutEverywhere("hangs up"));

test("a bus that falls silent after any message: the same, at the deadline", () =>
  cutEverywhere("falls silent"));

test("a connection that dies after any message of an apply: the file is whole, one restart, and the agent becomes ready", async (t) => {
  using node = new NodeDirectory();
  await using place = await behind(node, "hangs up");
  const { systemd, relay } = place;
  let revision = 0;
  const apply = async () => {
    revision += 1;
    node.mount(revision, revision % 2 === 1 ? content : { additional: { "a.io": "other" } });
    const options = { revision, healthzPort: systemd.healthzPort, flags: ["--probation=0s"] };
    await using agent = await AgentProcess.start(node, options);
    await agent.shows(200, "GPS200", 30_000);
    assert.equal(systemd.restartCalls, revision, agent.output);
    assert.equal(node.file === ours, revision % 2 === 1);
  };
  await apply();
  let cuts = 0;
  const every = Array.from({ length: relay.passed }, (_, index) => index + 1);
  const chosen = sample(t, every, 6);
  for (const message of chosen) {
    relay.cutAfter = relay.passed + message;
    await apply();
    cuts += Number(relay.passed >= relay.cutAfter);
  }
  // How often an apply asks for the unit's state depends on the machine: a late point may not be
  // reached.
  assert.ok(cuts >= chosen.length / 2, `${cuts} cuts`);
});

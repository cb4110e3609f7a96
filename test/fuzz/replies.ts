/**
 * What the connection to systemd must guarantee for any answer. The test damages systemd's real
 * answers.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { SystemdError, NoAnswer } from "#agent/systemd/connection.ts";
import { systemdOver } from "#agent/systemd/systemd.ts";
import { Random } from "../random.ts";
import { NodeDirectory, inTime } from "../harness/agent/agent.ts";
import { Relay } from "../faults/relay.ts";
import { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

/**
 * Changes, inserts or removes a byte, makes a length huge, changes a type, or cuts off the end of
 * the message.
 */
function damage(random: Random, data: Buffer): Buffer {
  const at = random.below(data.length + 1);
  const [head, tail] = [data.subarray(0, at), data.subarray(at)];
  const letters = [...data.keys()].filter((index) =>
    "souayxtbv{}()".includes(String.fromCharCode(data[index] ?? 0)),
  );
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([head, Buffer.from([random.below(256)]), tail.subarray(1)]);
    case 1:
      return Buffer.concat([head, Buffer.from([random.below(256)]), tail]);
    case 2:
      return Buffer.concat([head, tail.subarray(1 + random.below(8))]);
    case 3: {
      const whole = Buffer.from(data);
      const word = 4 * random.below(Math.max(1, Math.floor(data.length / 4)));
      if (word + 4 <= whole.length)
        whole.writeUInt32LE(random.pick([0, 1, 0xff, 0x7fffffff, 0xffffffff]), word);
      return whole;
    }
    case 4: {
      const whole = Buffer.from(data);
      if (letters.length > 0)
        whole.write(random.pick([..."souayxtbvdg{}()z"]), random.pick(letters));
      return whole;
    }
    default:
      return head;
  }
}

/**
 * Each case sends systemd a query and a restart, and damages a third of the answers. Asserts that
 * the process continues, throws only our own errors, ends the query and the restart in bounded
 * time, and leaves no descriptor open.
 */
export async function fuzzReplies(cases: number, from: number): Promise<void> {
  using node = new NodeDirectory();
  const behind = join(node.root, "behind");
  await using _systemd = await ScriptedSystemd.start(behind);
  await using relay = await Relay.between(node.systemd, behind, "hangs up");
  const deadline = 60;
  const open = systemdOver(node.systemd, new AbortController().signal, {
    question: deadline,
    job: deadline,
  });
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const before = descriptors();
  const seen = { read: 0, thrown: 0 };
  const few = () => Math.min(seen.read, seen.thrown) <= cases / 20;
  // Continues until enough answers were read, because on a busy machine most answers are late and
  // count as errors.
  for (let seed = from; seed < from + cases || (few() && seed < from + 10 * cases); seed += 1) {
    const random = new Random(seed);
    relay.spoil = (data) => (random.once(3) ? damage(random, data) : data);
    const began = performance.now();
    try {
      await open.unit("kubelet.service");
      seen.read += 1;
    } catch (error) {
      assert.ok(
        error instanceof NoAnswer || error instanceof SystemdError,
        `SEED=${seed} ${String(error)}`,
      );
      seen.thrown += 1;
    }
    const answer = await open.restart("kubelet.service", async () => {});
    if ("refused" in answer)
      assert.ok(
        answer.refused instanceof NoAnswer || answer.refused instanceof SystemdError,
        `SEED=${seed} ${answer.refused}`,
      );
    assert.ok(performance.now() - began < 10_000, `SEED=${seed}`);
  }
  assert.ok(!few(), JSON.stringify(seen));
  assert.ok(
    await inTime(() => descriptors() <= before + 2),
    `${before} descriptors became ${descriptors()}`,
  );
}

/** The memory of an agent on a node, at rest and while it applies the largest possible Secret. */
import { setTimeout as sleep } from "node:timers/promises";
import { agentOn, memoryOf, type Memory } from "../observe/agent-process.ts";
import type { Testbed } from "../testbed/testbed.ts";
import type { Measurement } from "../result/bench.ts";
import { calm, change } from "../testbed/change.ts";
import { capacity } from "#pullsecret/merge/capacity.ts";
import { largeDocument } from "../testbed/objects.ts";
import { measure } from "../result/result.ts";

/**
 * Bytes of the largest document that nodes can get. The controller accepts at most `capacity` for
 * the document and `sources` together, and `sources` uses 45 bytes for each of the 1,000 entries.
 */
const largest = capacity - 64 * 1024;

export const agentMemory: Measurement = {
  name: "agent-memory",
  run: async (bench) => {
    const testbed = await bench.real(1);
    const idle: Memory[] = [];
    const work: Memory[] = [];
    const rounds = bench.quick ? 1 : 3;
    // V8 keeps the memory that the largest Secret has needed, so the idle agent comes first.
    for (let round = 0; round < rounds; round++) {
      await calm();
      await change(testbed);
      await sleep(10_000);
      idle.push(present(testbed));
    }
    for (let round = 0; round < rounds; round++) {
      await calm();
      const life = await sampled(testbed, () =>
        change(testbed, largeDocument(1000, largest, testbed.nextRevision())),
      );
      const most = (key: keyof Memory) => Math.max(...life.map((sample) => sample[key]));
      work.push({ working: most("working"), own: most("own") });
    }
    await change(testbed);
    const row = (name: string, values: readonly Memory[], atMost: number) =>
      measure(
        { name: `an agent's working set, ${name}`, unit: "MiB", atMost },
        values.map(({ working }) => working),
      );
    return [row("idle", idle, 28), row("with the largest Secret", work, 48)];
  },
};

function present(testbed: Testbed): Memory {
  const [testbedNode] = testbed.nodes;
  const pid = testbedNode && agentOn(testbed, testbedNode);
  const memory = pid === undefined ? undefined : memoryOf(pid);
  if (memory === undefined) throw new Error("no agent runs");
  return memory;
}

/**
 * Samples the agent's memory until 3 s after `work` has ended. If the agent's process ends to
 * prove the content, continues with the next process.
 */
async function sampled(testbed: Testbed, work: () => Promise<unknown>): Promise<Memory[]> {
  const samples: Memory[] = [];
  const [testbedNode] = testbed.nodes;
  const over = new AbortController();
  const working = work()
    .then(() => sleep(3000))
    .finally(() => over.abort());
  // `work` is awaited below; until then its failure must not end the run.
  working.catch(() => {});
  let pid: number | undefined;
  while (!over.signal.aborted) {
    await sleep(20);
    // Searches all processes, which is expensive, only if the known process is gone.
    if (pid === undefined || memoryOf(pid) === undefined)
      pid = testbedNode && agentOn(testbed, testbedNode);
    const memory = pid === undefined ? undefined : memoryOf(pid);
    if (memory !== undefined) samples.push(memory);
  }
  await working;
  return samples;
}

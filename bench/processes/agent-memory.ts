/** The memory of an agent on a node, at rest and while it applies the largest possible Secret. */
import { setTimeout as sleep } from "node:timers/promises";
import { agentOn, memoryOf, type Memory } from "../observe/agent-process.ts";
import type { Testbed } from "../testbed/testbed.ts";
import type { Measurement } from "../result/bench.ts";
import { calm, change } from "../testbed/change.ts";
import { capacity } from "#pullsecret/merge/capacity.ts";
import { largeDocument } from "../testbed/objects.ts";
import { measure } from "../result/result.ts";
import { drawLines } from "../picture/lines.ts";

/** The memory request in MiB of the most similar product, which is written in Go. */
const peer = 35;
/**
 * Bytes of the largest document that nodes can get. The controller accepts at most `capacity` for
 * the document and `sources` together, and `sources` uses 45 bytes for each of the 1,000 entries.
 */
const largest = capacity - 64 * 1024;

type Sample = Memory & Readonly<{ pid: number; at: number }>;

export const agentMemory: Measurement = {
  name: "agent-memory",
  run: async (bench) => {
    const testbed = await bench.real(1);
    const idle: Memory[] = [];
    const work: Memory[] = [];
    let life: readonly Sample[] = [];
    for (let round = 0; round < (bench.quick ? 1 : 3); round++) {
      await calm();
      await change(testbed);
      await sleep(10_000);
      idle.push(present(testbed));
      life = await sampled(testbed, () =>
        change(testbed, largeDocument(1000, largest, testbed.nextRevision())),
      );
      const most = (key: keyof Memory) => Math.max(...life.map((sample) => sample[key]));
      work.push({ working: most("working"), own: most("own") });
    }
    await change(testbed);
    bench.picture("memory", draw(life));
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
async function sampled(testbed: Testbed, work: () => Promise<unknown>): Promise<Sample[]> {
  const samples: Sample[] = [];
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
    if (memory !== undefined && pid !== undefined) samples.push({ ...memory, pid, at: Date.now() });
  }
  await working;
  return samples;
}

function draw(life: readonly Sample[]): string {
  const begun = life[0]?.at ?? 0;
  const line = (key: keyof Memory) =>
    life.map((sample) => [(sample.at - begun) / 1000, sample[key]] as const);
  return drawLines({
    title: "One agent's memory while it applies 1,000 entries, the maximum",
    x: "seconds since the Secret was written",
    y: "MiB",
    lines: [
      { name: "working set", points: line("working") },
      { name: "private", points: line("own") },
    ],
    marks: [{ name: "a Go peer's request", y: peer }],
  });
}

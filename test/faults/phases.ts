/** An agent that is met in a phase of its journal, and the next one, which goes on from there. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, type AgentOptions, type Node, until } from "./agent.ts";

/** Put before the agent's program: each fsync takes 100 ms more, and a phase has two of them at least. */
export const slowly = "strace -D -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=100000".split(" ");

/** The phase in the node's journal; `undefined` without a journal. */
export function phaseOf(node: Node): string | undefined {
  const file = join(node.folder, "journal.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).phase : undefined;
}

/** Runs an agent until the condition holds, ends it with the signal, and answers how it ended. */
export async function endedWhen(
  node: Node,
  options: AgentOptions,
  condition: () => boolean,
  signal: "SIGTERM" | "SIGKILL",
): Promise<number | string> {
  await using agent = await Agent.start(node, { ...options, under: slowly });
  assert.ok(await until(condition), `the moment never came\n${agent.output}`);
  return await agent.end(signal);
}

/** Runs agents until one shows this; one that gives up ends by itself, and the next one says so. */
export async function carriedOn(node: Node, options: AgentOptions, status: 200 | 503, code: string): Promise<void> {
  for (let run = 0; run < 3; run += 1) {
    await using next = await Agent.start(node, options);
    const seen = await Promise.race([next.ended(), next.shows(status, code)]);
    if (typeof seen === "string" && seen.includes(code)) return;
  }
  assert.fail(`never ${code}`);
}

/** Works on so many items at a time: agents wait most of the time, for settle times and for each other. */
export async function atATime<T>(width: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

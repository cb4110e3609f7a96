/** An agent that is met in a phase of its journal, and the next one, which goes on from there. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { previousPrefix } from "#agent/journal/journal.ts";
import {
  AgentProcess,
  type AgentOptions,
  type ProbeAnswer,
  type NodeDirectory,
  inTime,
} from "../harness/agent/agent.ts";

/**
 * Put before the agent's program: each fsync takes 300 ms more, and a phase has one of them at
 * least, in which the test has to see it, on a busy machine too.
 */
export const slowly =
  "strace -D -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=300000".split(" ");

/** The phase in the node's journal; `undefined` without a journal. */
export function phaseOf(node: NodeDirectory): string | undefined {
  const file = join(node.folder, "journal.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).phase : undefined;
}

/**
 * Turns the node's journal into one of version 1, with the previous bytes in it and none beside it.
 */
export function ageJournal({ folder }: NodeDirectory): void {
  const file = join(folder, "journal.json");
  const { before, undo, ...rest } = JSON.parse(readFileSync(file, "utf8"));
  const aged = ({ digest, ...one }: { digest?: string }) => {
    if (digest === undefined) return one;
    return {
      ...one,
      bytes: readFileSync(join(folder, previousPrefix + digest), "base64"),
      uid: 0,
      gid: 0,
    };
  };
  const old = {
    ...rest,
    before: aged(before),
    ...(undo && { undo: { ...undo, file: aged(undo.file) } }),
  };
  writeFileSync(file, JSON.stringify({ ...old, version: 1, reads: 1 }));
  for (const name of readdirSync(folder))
    if (name.startsWith(previousPrefix)) rmSync(join(folder, name));
}

/** Runs an agent until the condition holds, ends it with the signal, and answers how it ended. */
export async function endedWhen(
  node: NodeDirectory,
  options: AgentOptions,
  condition: () => boolean,
  signal: "SIGTERM" | "SIGKILL",
): Promise<number | string> {
  await using agent = await AgentProcess.start(node, { ...options, under: slowly });
  assert.ok(await inTime(condition), `the moment never came\n${agent.output}`);
  return await agent.end(signal);
}

/**
 * Runs the next agent until it shows this. Of a rollback it gives up with 1, of a withdrawal it
 * ends with 0 to say so, and the one after it shows it; of anything else it must not end.
 */
export async function carriedOn(
  node: NodeDirectory,
  options: AgentOptions,
  status: ProbeAnswer,
  code: string,
): Promise<void> {
  const ends: Readonly<Record<string, number>> = { GPS219: 1, GPS224: 0 };
  for (let lives = Object.hasOwn(ends, code) ? 2 : 1; lives > 0; lives -= 1) {
    await using next = await AgentProcess.start(node, options);
    const seen = await Promise.race([next.ended(), next.shows(status, code)]);
    if (typeof seen === "string" && seen.includes(code)) return;
    assert.equal(seen, ends[code], `it ended before it showed ${code}\n${next.output}`);
  }
  assert.fail(`never ${code}`);
}

/**
 * Works on so many items at a time: agents wait most of the time, for probation and for each
 * other.
 */
export async function atATime<T>(
  width: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** The system calls of an agent that nobody disturbs. */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AgentProcess, type NodeDirectory, inTime } from "../harness/agent/agent.ts";
import type { ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";

/**
 * The calls of each thread, a line each: the time of its beginning, and the call as strace writes
 * it.
 */
type Threads = readonly (readonly (readonly [time: number, call: string])[])[];

/**
 * Runs an agent until `over`, then stops it. The file behind each descriptor stands in the call.
 */
export async function traced(
  node: NodeDirectory,
  systemd: ScriptedSystemd,
  revision: number,
  calls: readonly string[],
  over: (agent: AgentProcess) => Promise<unknown>,
): Promise<Threads> {
  const directory = mkdtempSync(join(node.root, "trace-"));
  // A file for each thread: lines are whole.
  const out = ["-ff", "-ttt", "-o", join(directory, "t")];
  const under = ["strace", "-D", ...out, "-y", "-s", "0", "-q", "-e", `trace=${calls.join(",")}`];
  await using agent = await AgentProcess.start(node, {
    revision,
    healthzPort: systemd.healthzPort,
    under,
  });
  await over(agent);
  await agent.end("SIGTERM");
  const threads = () =>
    readdirSync(directory).map((name) => readFileSync(join(directory, name), "utf8"));
  if (!(await inTime(() => threads().every((text) => text.includes("+++ exited")))))
    throw new Error("strace goes on");
  return threads().map((text) =>
    Array.from(text.matchAll(/^(\d+\.\d+) (.*)$/gm), ([, at, call = ""]) => [Number(at), call]),
  );
}

/**
 * The calls of all threads, in the order in which they began: the one that syncs and the one that
 * does the rest take turns.
 */
export function inOrder(threads: Threads): string[] {
  return threads
    .flat()
    .toSorted(([a], [b]) => a - b)
    .map(([, call]) => call);
}

export function callOf(line: string): string {
  return /^(\w+)\(/.exec(line)?.[1] ?? "";
}

/**
 * Throws where calls of one name come from several threads: strace counts, to make one of them
 * fail, those of each thread.
 */
export function assertCountable(threads: Threads, calls: readonly string[]): void {
  for (const call of calls) {
    const makers = threads.filter((lines) => lines.some(([, line]) => callOf(line) === call));
    if (makers.length > 1) throw new Error(`${makers.length} threads ${call}`);
  }
}

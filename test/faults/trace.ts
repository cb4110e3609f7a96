/** The system calls of an agent that nobody disturbs. */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, type Node, until } from "./agent.ts";
import type { ScriptedSystemd } from "./scripted-systemd.ts";

/**
 * Runs an agent until `over`, then stops it. Answers the calls of each of its threads, a line each, as strace writes them with
 * the name of the file behind each descriptor.
 */
export async function traced(
  node: Node,
  systemd: ScriptedSystemd,
  revision: number,
  calls: readonly string[],
  over: (agent: Agent) => Promise<unknown>,
): Promise<string[][]> {
  const directory = mkdtempSync(join(node.root, "trace-"));
  // A file for each thread: lines are whole.
  const out = ["-ff", "-o", join(directory, "t")];
  const under = ["strace", "-D", ...out, "-y", "-s", "0", "-q", "-e", `trace=${calls.join(",")}`];
  await using agent = await Agent.start(node, { revision, healthzPort: systemd.healthzPort, under });
  await over(agent);
  await agent.end("SIGTERM");
  const threads = () => readdirSync(directory).map((name) => readFileSync(join(directory, name), "utf8"));
  if (!(await until(() => threads().every((text) => text.includes("+++ exited"))))) throw new Error("strace goes on");
  return threads().map((text) => text.split("\n"));
}

/** The one thread that changes files. Throws when there are several: each one's calls would be counted for themselves. */
export function workerOf(threads: readonly string[][]): string[] {
  const [worker, ...others] = threads.filter((lines) => lines.some((line) => line.startsWith("rename(")));
  if (worker === undefined || others.length > 0) throw new Error(`${others.length + 1} threads change files, or none`);
  return worker;
}

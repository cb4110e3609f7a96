/** The system calls of an agent. */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type AgentProcess, inTime } from "../harness/agent/agent.ts";

/**
 * A system call: its line in strace's log, its name, its thread, and its start in seconds since
 * 1970.
 */
export type Call = Readonly<{ at: number; thread: string; name: string; line: string }>;

/**
 * Runs an agent until `over` resolves, then stops the agent. Returns the calls of all threads in
 * the order in which they began, because the main thread and the thread that syncs take turns. A
 * line includes the path of each descriptor and all bytes that are written.
 */
export async function traced(
  root: string,
  names: readonly string[],
  start: (under: readonly string[]) => Promise<AgentProcess>,
  over: (agent: AgentProcess) => Promise<unknown>,
): Promise<Call[]> {
  const directory = mkdtempSync(join(root, "trace-"));
  // One file for each thread, so that lines are whole.
  const out = ["-ff", "-ttt", "-o", join(directory, "t"), "-q"];
  const whole = ["-y", "-s", "65536", "-e", `trace=${names.join(",")}`];
  await using agent = await start(["strace", "-D", ...out, ...whole]);
  await over(agent);
  await agent.end("SIGTERM");
  const threads = () =>
    readdirSync(directory).map(
      (thread) => [thread, readFileSync(join(directory, thread), "utf8")] as const,
    );
  if (!(await inTime(() => threads().every(([, text]) => text.includes("+++ exited")))))
    throw new Error("strace does not end");
  return threads()
    .flatMap(([thread, text]) =>
      Array.from(text.matchAll(/^(\d+\.\d+) ((\w+)\(.*)$/gm), ([, at, line = "", name = ""]) => ({
        at: Number(at),
        thread,
        name,
        line,
      })),
    )
    .toSorted((a, b) => a.at - b.at);
}

/** The call's name, and the names of the files in its line. */
export function nameOf({
  name,
  line = "",
}: Readonly<{ name: string; line?: string | undefined }>): string {
  const paths = Array.from(line.matchAll(/["<](\/[^">]*)[">]/g), ([, path = ""]) => basename(path));
  return [name, ...new Set(paths)].join(" ");
}

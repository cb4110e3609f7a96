/**
 * Points at which an agent can be killed. They are counted in a run that nobody disturbs, so that a
 * change of the agent brings its new points along: each call that changes the file system (the
 * lock's socket is bound in it), each opening of a file that decides what is done, and each request
 * that systemd hears.
 */
import { join } from "node:path";
import type { AgentProcess, NodeDirectory } from "./agent.ts";
import { questioned, type ScriptedSystemd } from "./scripted-systemd.ts";
import { assertCountable, callOf, inOrder, traced } from "./trace.ts";

/** `call` is a system call or a method of systemd; the agent is killed at its nth. */
export type Point = Readonly<{ call: string; nth: number; heard: boolean }>;

/** Whatever changes a file system. An agent makes but some of them. */
const changing = (
  "mkdir mkdirat pwrite64 pwritev pwritev2 chmod fchmod fchmodat chown fchown lchown fchownat link linkat symlink symlinkat " +
  "bind listen fsync fdatasync rename renameat renameat2 truncate ftruncate unlink unlinkat rmdir"
).split(" ");

const quiet = ["strace", "-D", "-f", "-qq", "-o", "/dev/null"];

/** Files whose content decides what is done. */
function opened(node: NodeDirectory): string[] {
  return [node.config, join(node.folder, "journal.json")];
}

/**
 * Arguments before the agent's, by which it dies as it enters the point. strace counts the calls of
 * each thread.
 */
export function killingAt(node: NodeDirectory, { call, nth, heard }: Point): string[] {
  if (heard) return [];
  // Only of these files: the other threads open modules.
  const paths = call === "openat" ? opened(node).flatMap((path) => ["-P", path]) : [];
  return [
    ...quiet,
    ...paths,
    "-e",
    `trace=${call}`,
    "-e",
    `inject=${call}:signal=KILL:when=${nth}`,
  ];
}

/** Runs an agent undisturbed until `over`, and answers the points that it went through. */
export async function pointsOf(
  node: NodeDirectory,
  systemd: ScriptedSystemd,
  revision: number,
  over: (agent: AgentProcess) => Promise<unknown>,
): Promise<Point[]> {
  const before = systemd.calls.length;
  const threads = await traced(node, systemd, revision, ["openat", ...changing], over);
  assertCountable(threads, changing);
  const paths = opened(node);
  const decides = (line: string) =>
    callOf(line) === "openat" && paths.includes(/"([^"]*)"/.exec(line)?.[1] ?? "");
  const made = inOrder(threads)
    .filter((line) => changing.includes(callOf(line)) || decides(line))
    .map(callOf);
  // Of the dozen that are asked for at once, one.
  const heard = systemd.calls
    .slice(before)
    .filter((call) => !call.startsWith("Get ") || call === questioned);
  return [...numbered(made, false), ...numbered(heard, true)];
}

function numbered(calls: readonly string[], heard: boolean): Point[] {
  const counts = Map.groupBy(calls, (call) => call);
  return Array.from(counts, ([call, all]) =>
    all.map((_, index) => ({ call, nth: index + 1, heard })),
  ).flat();
}

/**
 * Points at which an agent can be killed. They are counted in a run that nobody disturbs, so that a
 * change of the agent brings its new points along: each call that changes the file system (the
 * lock's socket is bound in it), each opening of a file that decides what is done, and each request
 * that systemd hears.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentProcess, inTime, type NodeDirectory } from "../harness/agent/agent.ts";
import { questioned, type ScriptedSystemd } from "../harness/agent/scripted-systemd.ts";
import { assertCountable, callOf, inOrder, traced } from "./trace.ts";

/**
 * `call` is a system call or a method of systemd, `file` what it opens; the agent is killed at its
 * nth.
 */
export type Point = Readonly<{ call: string; file?: string; nth: number; heard: boolean }>;

export const named = ({ call, file = "", nth }: Point) =>
  [call, file, nth].filter(Boolean).join(" ");

/** Whatever changes a file system. An agent makes but some of them. */
const changing = (
  "mkdir mkdirat pwrite64 pwritev pwritev2 chmod fchmod fchmodat chown fchown lchown fchownat link linkat symlink symlinkat " +
  "bind listen fsync fdatasync rename renameat renameat2 truncate ftruncate unlink unlinkat rmdir"
).split(" ");

/** Files whose content decides what is done. */
const deciding: Readonly<Record<string, (node: NodeDirectory) => string>> = {
  "config.json": ({ config }) => config,
  "journal.json": ({ folder }) => join(folder, "journal.json"),
};

/** Where strace writes what it saw of the agent that it was to kill. */
const seen = ({ root }: NodeDirectory) => join(root, "seen");

/**
 * Arguments before the agent's, by which it dies as it enters the point. strace counts the calls of
 * each thread.
 */
export function killingAt(node: NodeDirectory, { call, file, nth, heard }: Point): string[] {
  if (heard) return [];
  // Only of this file: the other threads open modules.
  const path = file === undefined ? undefined : deciding[file]?.(node);
  const tracing = ["-e", `trace=${call}`, ...(path === undefined ? [] : ["-P", path])];
  const killing = ["-e", `inject=${call}:signal=KILL:when=${nth}`];
  return ["strace", "-D", "-f", "-q", "-o", seen(node), ...tracing, ...killing];
}

/** How often an agent that has ended by itself made the call, as strace saw it. */
export async function madeBy(
  { child }: AgentProcess,
  node: NodeDirectory,
  { call }: Point,
): Promise<number> {
  const text = () => readFileSync(seen(node), "utf8");
  const end = new RegExp(String.raw`^${child.pid} +\+\+\+ exited`, "m");
  if (!(await inTime(() => end.test(text())))) throw new Error("strace goes on");
  return text().split(` ${call}(`).length - 1;
}

/** What a look asks systemd; the second where the agent may give the kubelet its flags. */
const ofLooks: ReadonlySet<string> = new Set([questioned, "GetUnitProcesses"]);

/**
 * Whether a run that made so many may have had too few for the point. Each look opens the files,
 * and most ask systemd; how many looks fit into a kubelet's probation is a matter of time. One look
 * there always is, and all else is done as often in each run.
 */
export function mayFallShort({ call, file, nth }: Point, made: number): boolean {
  return (file !== undefined || ofLooks.has(call)) && made > 0 && made < nth;
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
  const made = inOrder(threads)
    .map(callOf)
    .filter((call) => changing.includes(call))
    .map((call) => ({ call }));
  const opened = Object.entries(deciding).flatMap(([file, pathOn]) => {
    const isOpening = (line: string) =>
      callOf(line) === "openat" && line.includes(`"${pathOn(node)}"`);
    const openings = threads.map((lines) => lines.filter(([, line]) => isOpening(line)));
    assertCountable(openings, ["openat"]);
    const all = openings.flat();
    if (all.length === 0) throw new Error(`nobody opens ${file}`);
    return all.map(() => ({ call: "openat", file }));
  });
  // Of the dozen that are asked for at once, one.
  const heard = systemd.calls
    .slice(before)
    .filter((call) => !call.startsWith("Get ") || call === questioned)
    .map((call) => ({ call }));
  return [...numbered([...made, ...opened], false), ...numbered(heard, true)];
}

function numbered(calls: readonly Pick<Point, "call" | "file">[], heard: boolean): Point[] {
  const counts = Map.groupBy(calls, ({ call, file }) => `${call} ${file}`);
  return Array.from(counts.values(), (all) =>
    all.map((one, index) => ({ ...one, nth: index + 1, heard })),
  ).flat();
}

/**
 * Points at which an agent can get a signal: each system call that changes the file system or
 * creates the lock's socket, each open of config.json or the journal, and each request to systemd.
 * The points are recorded in a run without an interruption, so a new call of the agent becomes a
 * new point.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentProcess, inTime, type NodeDirectory } from "#test/harness/agent/agent.ts";
import { questioned } from "#test/harness/agent/scripted-systemd.ts";
import { type Call, nameOf } from "../trace.ts";

/**
 * The nth `call`. A call is a system call (if `file` is given, only on this file) or a request to
 * systemd.
 */
type Place = Readonly<{ call: string; file?: string | undefined; nth: number; received?: boolean }>;

/** `name` also contains the call before the point. `at`: seconds since 1970. */
export type Point = Place & Readonly<{ name: string; at: number }>;

/** A request to systemd. `at`: seconds since 1970. */
export type Request = Readonly<{ at: number; name: string; line?: undefined }>;

/** All system calls that change a file system. An agent makes only some of these calls. */
const changingCalls = (
  "mkdir mkdirat pwrite64 pwritev pwritev2 chmod fchmod fchmodat chown fchown lchown fchownat link linkat symlink symlinkat " +
  "bind listen fsync fdatasync rename renameat renameat2 truncate ftruncate unlink unlinkat rmdir"
).split(" ");

/** The system calls that strace records in a run without an interruption. */
export const recorded = ["openat", "write", ...changingCalls];

/** Files whose content decides what an agent does next. */
const decisiveFiles: Readonly<Record<string, (node: NodeDirectory) => string>> = {
  "config.json": ({ config }) => config,
  "journal.json": ({ folder }) => join(folder, "journal.json"),
};

/** The log file of strace. */
const seen = ({ root }: NodeDirectory) => join(root, "seen");

/**
 * The command to put before the agent's program, so that strace sends the agent the signal at this
 * point. strace counts the calls of each thread separately.
 */
export function signalAt(node: NodeDirectory, place: Place, signal: "KILL" | "TERM"): string[] {
  const { call, file, nth, received } = place;
  if (received) return [];
  // Counts only opens of this file, because other threads open modules.
  const path = file === undefined ? undefined : decisiveFiles[file]?.(node);
  const tracing = ["-e", `trace=${call}`, ...(path === undefined ? [] : ["-P", path])];
  const injecting = ["-e", `inject=${call}:signal=${signal}:when=${nth}`];
  return ["strace", "-D", "-f", "-q", "-o", seen(node), ...tracing, ...injecting];
}

/** Counts in strace's log how often the agent made the call. The agent must have ended. */
export async function madeBy(
  { child }: AgentProcess,
  node: NodeDirectory,
  { call }: Point,
): Promise<number> {
  const text = () => readFileSync(seen(node), "utf8");
  const end = new RegExp(String.raw`^${child.pid} +\+\+\+ exited`, "m");
  if (!(await inTime(() => end.test(text())))) throw new Error("strace does not end");
  return text().split(` ${call}(`).length - 1;
}

/**
 * The calls and requests that an agent makes in each observation. The number of observations during
 * a probation varies from run to run, but is at least one. Points at other calls are reached in
 * each run.
 */
const repeatedCalls: ReadonlySet<string> = new Set(["openat", questioned]);

export const isRepeated = ({ call }: Place): boolean => repeatedCalls.has(call);

/** The points of a run, in their order. */
export function pointsOf(
  node: NodeDirectory,
  calls: readonly Call[],
  requests: readonly Request[],
): Point[] {
  const openedBy = ({ name, line }: Pick<Call | Request, "name" | "line">) =>
    Object.keys(decisiveFiles).find(
      (file) => name === "openat" && line?.includes(`"${decisiveFiles[file]?.(node)}"`),
    );
  const countedCalls = calls.filter((call) => changingCalls.includes(call.name) || openedBy(call));
  assertCountable(countedCalls);
  for (const file of Object.keys(decisiveFiles))
    assert.ok(
      countedCalls.some((call) => openedBy(call) === file),
      `${file} is never opened`,
    );
  // The agent sends a dozen questions at once. Only one of these questions is a point.
  const received = requests.filter(({ name }) => !name.startsWith("Get ") || name === questioned);
  const counts = new Map<string, number>();
  let previous = "at first";
  return [...countedCalls, ...received]
    .toSorted((a, b) => a.at - b.at)
    .map((event) => {
      const file = openedBy(event);
      const key = `${event.name} ${file}`;
      const nth = (counts.get(key) ?? 0) + 1;
      counts.set(key, nth);
      const name = `${event.name} ${nth} ${previous}`;
      previous = `after ${nameOf(event)}`;
      return {
        call: event.name,
        file,
        nth,
        received: event.line === undefined,
        name,
        at: event.at,
      };
    });
}

/** Throws if several threads make the same call, because strace counts the calls of each thread. */
function assertCountable(allCalls: readonly Call[]): void {
  for (const [name, calls] of Map.groupBy(allCalls, (call) => call.name)) {
    const threads = new Set(calls.map(({ thread }) => thread));
    if (threads.size > 1) throw new Error(`${threads.size} threads ${name}`);
  }
}

/**
 * Who listens at the kubelet's healthz port. Any process of the node can take the port while the
 * kubelet restarts, and an answer of such a process proves nothing.
 */
import { closeSync, openSync, readSync } from "node:fs";

/** The kernel's tables of sockets in the agent's network namespace, which is the node's. */
const tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/** own: only processes of the agent's user, root · nobody: no process · foreign: also others. */
export type Listener = "own" | "nobody" | "foreign";

export function listenerAt(port: number): Listener {
  const users = tables.flatMap((table) => listenersIn(readTable(table), port));
  if (users.length === 0) return "nobody";
  return users.every((user) => user === process.getuid?.()) ? "own" : "foreign";
}

const listening = "0A";

/** The uids of the listeners at the port. Pure. */
export function listenersIn(table: string, port: number): number[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return table.split("\n").flatMap((line) => {
    const [, local = "", , state, , , , uid = ""] = line.trim().split(/\s+/);
    return state === listening && local.endsWith(suffix) ? [Number(uid)] : [];
  });
}

/** Listeners come first in a table. A node has some hundred of them, with 150 bytes each. */
const mostBytes = 512 * 1024;

/** The beginning of a table; empty if the kernel has none, for example without IPv6. */
function readTable(path: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    return "";
  }
  try {
    const buffer = Buffer.alloc(mostBytes);
    let length = 0;
    while (length < mostBytes) {
      const read = readSync(descriptor, buffer, length, Math.min(65_536, mostBytes - length), null);
      if (read === 0) break;
      length += read;
      // A line of another state: no listener follows.
      if (/ 0[1-9B] /.test(buffer.toString("latin1", Math.max(0, length - read), length))) break;
    }
    return buffer.toString("latin1", 0, length);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Who serves a TCP connection of this process. Any process of the node can listen at the kubelet's
 * healthz port, and an answer of such a process proves nothing.
 */
import { closeSync, openSync, readSync } from "node:fs";

/** The kernel's tables of sockets in the agent's network namespace, which is the node's. */
const tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/** The ports of the connection, as the client sees them. */
export type Ports = Readonly<{ client: number; server: number }>;

/**
 * Whether a process of the agent's own user, root, serves the open connection. False if the server
 * is outside this network namespace, or has closed its socket.
 */
export function isServedByOwnUser(ports: Ports): boolean {
  const user = process.getuid?.() ?? -1;
  return isServedBy(user, tables.flatMap((table) => readTable(table, ports)).join("\n"), ports);
}

const established = "01";

/** As above, from the tables' text. Pure. */
export function isServedBy(user: number, table: string, { client, server }: Ports): boolean {
  const rows = table.split("\n").map((line) => {
    const [, local = "", remote = "", state, , , , uid, , inode] = line.trim().split(/\s+/);
    // The kernel shows no inode for a socket that no process has accepted, or that is closed.
    const isOwn = state === established && uid === String(user) && inode !== "0";
    return { local: local.split(":"), remote: remote.split(":"), isOwn };
  });
  const [near, far] = [client, server].map(hex);
  const clients = rows.filter(({ local, remote }) => local[1] === near && remote[1] === far);
  const servers = rows.filter(({ local, remote }) => local[1] === far && remote[1] === near);
  return servers.some(
    ({ local, remote, isOwn }) =>
      isOwn &&
      clients.some(
        (row) =>
          row.isOwn && isSameHost(row.local[0], remote[0]) && isSameHost(row.remote[0], local[0]),
      ),
  );
}

const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");

/** The address of a server that listens at `::` has the IPv4 address at its end. */
function isSameHost(address = "", other = ""): boolean {
  const mapped = "0000000000000000FFFF0000";
  return address.replace(mapped, "") === other.replace(mapped, "");
}

/**
 * The most bytes of a table; 100,000 connections have 15 MB. A row beyond them counts as absent.
 */
const mostBytes = 32 * 1024 * 1024;

/** The lines of a table that name both ports; none if the kernel has no such table. */
function readTable(path: string, { client, server }: Ports): string[] {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    return [];
  }
  try {
    const named: string[] = [];
    const buffer = Buffer.alloc(65_536);
    let rest = "";
    for (let length = 0; length < mostBytes;) {
      const read = readSync(descriptor, buffer, 0, buffer.length, null);
      if (read === 0) break;
      length += read;
      const lines = (rest + buffer.toString("latin1", 0, read)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        if (line.includes(`:${hex(client)} `) && line.includes(`:${hex(server)} `))
          named.push(line);
    }
    return named;
  } finally {
    closeSync(descriptor);
  }
}

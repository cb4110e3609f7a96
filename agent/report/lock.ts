/**
 * The node's lock. The lock's holder is the only agent that works on the node. The lock is a socket
 * in our own folder, which only root can enter. A connection attempt shows whether the holder is
 * alive or was killed. There is no timeout, so a frozen agent keeps the lock.
 *
 * Each agent opens a listening socket under a name that is never used again, and only then looks
 * for other sockets. So the later of two agents always sees the socket of the other agent
 * (docs/inside/decisions/one-writer.md).
 */
import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, readdirSync, renameSync, unlinkSync } from "node:fs";
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { hasCode } from "../files/errno.ts";
import { discard, lockPrefix, makeDirectory } from "../journal/folder.ts";
import { FileError } from "../files/atomic-write.ts";

/** The suffix of a socket that does not accept connections yet. */
const unfinished = ".new";

export class Lock {
  readonly #folder: string;
  #socket: Readonly<{ path: string; server: Server }> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Whether we hold the lock. If our folder is removed, the lock is lost. */
  get held(): boolean {
    return this.#socket !== undefined && existsSync(this.#socket.path);
  }

  /**
   * Whether this agent is alone on the node: true once we have the lock. Also true while the folder
   * does not exist, because then no agent has changed anything. `make`: create the folder, mode
   * 0700, to lock it. Throws the error of the file system.
   */
  async acquire(make = false): Promise<boolean> {
    if (this.held) return true;
    this.release();
    if (make) makeDirectory(this.#folder);
    try {
      return await this.#contend();
    } catch (error) {
      // Another agent removed the folder, or swept our unfinished socket.
      if (hasCode(error, "ENOENT")) return false;
      throw error;
    }
  }

  async #contend(): Promise<boolean> {
    if (!existsSync(this.#folder)) return true;
    if (!lstatSync(this.#folder).isDirectory())
      throw new FileError(`${this.#folder} is not a directory`);
    // A waiting agent must not change the folder each second, because the holder would start a
    // round each time.
    if (await this.#hasOthers()) return false;
    await this.#listen();
    if (!(await this.#hasOthers())) return true;
    this.release();
    return false;
  }

  /** Releases the lock. After this call, the agent must not change the node. Never throws. */
  release(): void {
    if (this.#socket === undefined) return;
    const { path, server } = this.#socket;
    this.#socket = undefined;
    try {
      unlinkSync(path);
    } catch {
      // The socket is gone, or the next agent finds that it is dead.
    }
    server.close();
  }

  /**
   * Renames the socket to its final name only when it accepts connections. Before that, other
   * agents would consider it dead.
   */
  async #listen(): Promise<void> {
    const path = join(this.#folder, `${lockPrefix}${randomBytes(8).toString("hex")}`);
    const server = createServer((socket) => socket.on("error", () => {}).destroy());
    server.listen(`${path}${unfinished}`);
    await once(server, "listening");
    try {
      renameSync(`${path}${unfinished}`, path);
    } catch (error) {
      server.close();
      throw error;
    }
    server.on("error", () => {});
    this.#socket = { path, server };
  }

  /**
   * Whether another agent is alive. Removes sockets of dead agents: no agent uses such a name
   * again.
   */
  async #hasOthers(): Promise<boolean> {
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      if (!name.startsWith(lockPrefix) || name.endsWith(unfinished) || path === this.#socket?.path)
        continue;
      if (await isAlive(path)) return true;
      discard(path);
    }
    return false;
  }
}

/**
 * A socket counts as dead only if it is certain that no process listens. If the queue is full, or a
 * permission is missing, the socket counts as alive.
 */
async function isAlive(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch (error) {
    return !hasCode(error, "ECONNREFUSED") && !hasCode(error, "ENOENT");
  } finally {
    socket.on("error", () => {}).destroy();
  }
}

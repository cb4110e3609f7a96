/**
 * The node's lock: its holder is the node's only agent. It is a socket in our own folder, which
 * only root can enter; the probe's port could be taken by any local process. Connecting tells a
 * live holder from a dead one, however it died; nothing times out, so a frozen agent keeps the
 * lock.
 *
 * Each contender raises a flag of its own, a listening socket under a name that nobody uses twice,
 * and only then looks for others: of two, the later one sees the other's, whatever the order
 * (docs/inside/decisions/node-lock.md). One common path could not be taken over from a dead holder
 * without a moment in which a third comes in.
 */
import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, readdirSync, renameSync, unlinkSync } from "node:fs";
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { hasCode } from "../files/errno.ts";
import { discard, lockPrefix, makeDirectory } from "../journal/folder.ts";
import { FileError } from "../files/atomic-write.ts";

/** A socket that nobody can connect to yet. */
const unfinished = ".new";

export class Lock {
  readonly #folder: string;
  #socket: Readonly<{ path: string; server: Server }> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Whether we have it; somebody who removed our folder has taken it from us. */
  get held(): boolean {
    return this.#socket !== undefined && existsSync(this.#socket.path);
  }

  /**
   * Whether no other agent works on this node: true once we have the lock, and while there is no
   * folder, so that nobody has done anything. `make`: the folder is made, 0700, to be locked.
   * Throws what the file system threw.
   */
  async acquire(make = false): Promise<boolean> {
    if (this.held) return true;
    this.release();
    if (make) makeDirectory(this.#folder);
    try {
      return await this.#contend();
    } catch (error) {
      // Another one took the folder away, or swept up what we were about to raise.
      if (hasCode(error, "ENOENT")) return false;
      throw error;
    }
  }

  async #contend(): Promise<boolean> {
    if (!existsSync(this.#folder)) return true;
    if (!lstatSync(this.#folder).isDirectory())
      throw new FileError(`${this.#folder} is not a directory`);
    // Who waits for another one must not stir the folder each second: that one would look each
    // time.
    if (await this.#hasOthers()) return false;
    await this.#listen();
    if (!(await this.#hasOthers())) return true;
    this.release();
    return false;
  }

  /** Gives it up; nothing may be done on the node afterwards. Never throws. */
  release(): void {
    if (this.#socket === undefined) return;
    const { path, server } = this.#socket;
    this.#socket = undefined;
    try {
      unlinkSync(path);
    } catch {
      // It is gone, or the next agent finds nobody behind it.
    }
    server.close();
  }

  /**
   * It has its name only when it can be connected to: before, it would be taken for a dead one's.
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

  /** Takes dead ones' flags away on the way: their names do not come again. */
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
 * Only what surely has nobody behind it is dead: a full queue, or no permission, is an answer, too.
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

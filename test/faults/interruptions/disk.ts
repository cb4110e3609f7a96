/**
 * Computes the states in which a power failure can leave a node's disk. Replays the recorded system
 * calls of an agent. After each call, a power failure can lose or keep each unsynced change of a
 * name. Every combination is one state. A file whose bytes were not synced is empty.
 */
import assert from "node:assert/strict";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Call } from "../trace.ts";

type File = Readonly<{ bytes: Buffer; mode: number }>;

/** The content of a directory: path below it → file. Each directory is listed before its files. */
export type Disk = ReadonlyMap<string, File | "directory">;

/**
 * The plain files and directories below `root`. Leaves out sockets, which an agent uses as a lock.
 */
export function diskOf(root: string): Disk {
  const disk = new Map<string, File | "directory">();
  for (const name of readdirSync(root, { recursive: true, encoding: "utf8" }).toSorted()) {
    const path = join(root, name);
    const stat = lstatSync(path);
    if (stat.isDirectory()) disk.set(name, "directory");
    else if (stat.isFile()) disk.set(name, { bytes: readFileSync(path), mode: stat.mode & 0o7777 });
  }
  return disk;
}

/** Writes the files and directories of a disk into an empty directory. */
export function lay(disk: Disk, root: string): void {
  for (const [name, file] of disk) {
    const path = join(root, name);
    if (file === "directory") mkdirSync(path, { mode: 0o700 });
    else {
      writeFileSync(path, file.bytes);
      chmodSync(path, file.mode);
    }
  }
}

export type Crash = Readonly<{
  disk: Disk;
  /** The call before the failure. */
  after: Call;
}>;

/** A number that identifies a file, also after the file is renamed. */
type Name = number | "directory";
/**
 * The names that one call changes. A power failure loses all of these changes or none. `undefined`:
 * the name was removed.
 */
type Change = readonly (readonly [name: string, file: Name | undefined])[];

/** A file that is renamed to its staged name once it is whole. No agent looks for it. */
export const isPartial = (name: string) => /\.staged\.\d+$/.test(name);

/** A directory on which recorded calls are replayed. */
class Replay {
  readonly #files: File[] = [];
  readonly #unsynced = new Set<Name>();
  readonly #now = new Map<string, Name>();
  readonly #durable: Map<string, Name>;
  #pending: (readonly [directory: string, change: Change])[] = [];

  constructor(start: Disk) {
    for (const [name, file] of start)
      this.#now.set(name, file === "directory" ? file : this.#files.push(file) - 1);
    this.#durable = new Map(this.#now);
  }

  /** Replays a call that succeeded. Returns false if the call cannot have changed the directory. */
  take(name: string, args: string, root: string): boolean {
    const texts = Array.from(args.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, text = ""]) => text);
    const [path = "", to = ""] = texts.map((text) => relative(root, text) || ".");
    const open = relative(root, /^\d+<([^>]*)>/.exec(args)?.[1] ?? "/") || ".";
    const mode = Number.parseInt(/, (0\d+)$/.exec(args)?.[1] ?? "0", 8);
    const [file, opened] = [this.#now.get(path), this.#now.get(open)];
    const isCreated = args.includes("O_CREAT") && file === undefined && !path.startsWith("..");
    if (name === "openat" && isCreated)
      this.#rename(dirname(path), [path, this.#files.push({ bytes: Buffer.alloc(0), mode }) - 1]);
    else if (name === "openat" && args.includes("O_TRUNC") && file !== undefined)
      this.#write(file, () => "");
    else if (/^p?write/.test(name) && opened !== undefined)
      this.#write(opened, (bytes) => bytes + JSON.parse(`"${texts[0]}"`));
    else if (name === "chmod" && typeof file === "number")
      this.#files[file] = { bytes: Buffer.alloc(0), ...this.#files[file], mode };
    else if (name === "mkdir" && !path.startsWith(".."))
      this.#rename(dirname(path), [path, "directory"]);
    else if (name === "rename" && file !== undefined)
      this.#rename(dirname(to), [path, undefined], [to, file]);
    else if (/^(unlink|rmdir)$/.test(name) && file !== undefined)
      this.#rename(dirname(path), [path, undefined]);
    else if (name === "fsync" && typeof opened === "number") this.#unsynced.delete(opened);
    else if (name === "fsync") {
      for (const [directory, change] of this.#pending)
        if (directory === open) apply(this.#durable, change);
      this.#pending = this.#pending.filter(([directory]) => directory !== open);
    } else return false;
    return true;
  }

  #rename(directory: string, ...change: Change): void {
    apply(this.#now, change);
    // Treats the names of partial files as synced, because each unsynced name would double the
    // number of states.
    if (change.every(([name]) => isPartial(name))) apply(this.#durable, change);
    else this.#pending.push([directory, change]);
    assert.ok(this.#pending.length < 8, `${this.#pending.length} changes of names are not synced`);
  }

  #write(file: Name, text: (bytes: string) => string): void {
    const old = file === "directory" ? undefined : this.#files[file];
    if (file === "directory" || old === undefined) throw new Error(`${file} is written to`);
    this.#files[file] = {
      ...old,
      bytes: Buffer.from(text(old.bytes.toString("latin1")), "latin1"),
    };
    this.#unsynced.add(file);
  }

  /** Every state in which a power failure at this moment can leave the directory. */
  states(): Disk[] {
    return Array.from({ length: 2 ** this.#pending.length }, (_, mask) => {
      const names = new Map(this.#durable);
      for (const [bit, [, change]] of this.#pending.entries())
        if ((mask >> bit) & 1) apply(names, change);
      const disk = new Map<string, File | "directory">();
      // If a directory is lost, its files are lost too.
      for (const [name, file] of Array.from(names).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        if (dirname(name) === "." || disk.has(dirname(name))) disk.set(name, this.#left(file));
      return disk;
    });
  }

  #left(file: Name): File | "directory" {
    const entry = file === "directory" ? file : this.#files[file];
    if (entry === undefined) throw new Error(`no file ${file}`);
    if (entry === "directory" || !this.#unsynced.has(file)) return entry;
    return { ...entry, bytes: Buffer.alloc(0) };
  }
}

function apply(names: Map<string, Name>, change: Change): void {
  for (const [name, file] of change)
    if (file === undefined) names.delete(name);
    else names.set(name, file);
}

/**
 * Every state in which a power failure can leave the directory `root`, in the order of the calls.
 */
export function crashes(calls: readonly Call[], start: Disk, root: string): Crash[] {
  const replay = new Replay(start);
  return calls.flatMap((after) => {
    const [, args] = /^\w+\((.*)\) += \d+/s.exec(after.line) ?? [];
    if (args === undefined || !replay.take(after.name, args, root)) return [];
    return replay.states().map((disk) => ({ disk, after }));
  });
}

/**
 * Reads what lies on the node: the Secret, our journal, config.json. Each is read again only when
 * its file has changed, so an idle look costs a few calls instead of reading and parsing 3 MiB.
 *
 * The calls are blocking: the files are small and local, and twenty trips through Node's thread
 * pool cost three times as much as the calls themselves.
 */
import { dirname, join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import { type Config, modeOf } from "../facts/config.ts";
import type { JournalReading } from "../journal/journal.ts";
import {
  type GrantReading,
  mountOf,
  readGrantIn,
  readVolume,
  type Volume,
} from "../delivery/volume.ts";
import type { Delivery, NodeFile } from "../delivery/delivery.ts";
import { identify } from "../files/atomic-write.ts";
import { readStore } from "../journal/store.ts";
import { existsSync } from "node:fs";

type Known = Pick<Config, "secretDirectory" | "kubeletDirectory" | "delivery" | "restart">;
type Sources = Readonly<{ config: Known; delivery: Delivery; clock: () => number }>;

export class Readings {
  readonly #config: Known;
  readonly #delivery: Delivery;
  readonly #grant: Cached<Readonly<{ grant: GrantReading }>>;
  readonly #volume: Cached<Volume>;
  readonly #journal: Cached<JournalReading>;
  readonly #file: Cached<NodeFile>;

  /** `clock`: milliseconds that never jump. */
  constructor({ config, delivery, clock }: Sources) {
    this.#config = config;
    this.#delivery = delivery;
    this.#grant = new Cached(clock);
    this.#volume = new Cached(clock);
    this.#journal = new Cached(clock);
    this.#file = new Cached(clock);
  }

  /** The grant alone: it decides whether the rest of the volume is read. */
  async grant(): Promise<GrantReading> {
    const { secretDirectory } = this.#config;
    const read = () => ({ grant: readGrantIn(secretDirectory) });
    return (await this.#grant.read(mountOf(secretDirectory), read)).grant;
  }

  volume(): Promise<Volume> {
    const { secretDirectory } = this.#config;
    const read = () => readVolume(secretDirectory, modeOf(this.#config));
    return this.#volume.read(mountOf(secretDirectory), read);
  }

  /** Throws what the file system threw. */
  journal(): Promise<JournalReading> {
    const [folder, path] = this.#journalPaths();
    return this.#journal.read(identityOf(folder, path), () => readStore(folder));
  }

  file(): Promise<NodeFile> {
    const { kubeletDirectory } = this.#config;
    return this.#file.read(identityOf(...this.#filePaths()), () =>
      this.#delivery.read(kubeletDirectory),
    );
  }

  /** The folder's identity counts, too: files with previous bytes may be removed from it. */
  #journalPaths(): readonly [folder: string, journal: string] {
    const path = join(this.#config.kubeletDirectory, nodeFiles.journal);
    return [dirname(path), path];
  }

  #filePaths(): readonly string[] {
    return this.#delivery.names.map((name) => join(this.#config.kubeletDirectory, name));
  }

  /** Whether one of the files has changed since it was read last. */
  isOutdated(): boolean {
    const { secretDirectory } = this.#config;
    return (
      this.#grant.isOutdated(mountOf(secretDirectory)) ||
      this.#journal.isOutdated(identityOf(...this.#journalPaths())) ||
      this.#file.isOutdated(identityOf(...this.#filePaths()))
    );
  }

  /** Frees the memory. */
  forget(): void {
    for (const one of [this.#volume, this.#journal, this.#file]) one.forget();
  }
}

/** `undefined` where it cannot be told; reading the file then tells why. */
function identityOf(...files: readonly string[]): string | undefined {
  try {
    return files.map(identify).join(" ");
  } catch {
    return undefined;
  }
}

/**
 * Why the mounted directory is not the kubelet's; undefined if it is. The kubelet keeps each of its
 * pods in its root directory, so ours is there. An agent that knows no uid cannot tell.
 */
export function whyElsewhere({
  uid,
  kubeletDirectory,
}: Pick<Config, "uid" | "kubeletDirectory">): string | undefined {
  if (uid === "" || existsSync(join(kubeletDirectory, "pods", uid))) return undefined;
  return `there is no pods/${uid}`;
}

/**
 * A file must be unchanged for this many milliseconds before what was read is kept. Two writes
 * within one tick of the file system's clock (10 ms, on some file systems 2 s) leave equal times.
 */
const trusted = 10_000;

/** Keeps what was read from a file until the file changes. */
export class Cached<T extends object> {
  readonly #clock: () => number;
  #identity: string | undefined;
  #since = 0;
  #value: T | undefined;

  /** `clock`: milliseconds that never jump. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Returns what `read` returns, or returned. The `identity` is taken before reading, so a change
   * in between is read by the next look. `undefined` means that the file has none: nothing is kept.
   */
  async read(identity: string | undefined, read: () => T | Promise<T>): Promise<T> {
    if (identity !== this.#identity) {
      // Released before the next one is read: there is no memory for both.
      this.#value = undefined;
      this.#identity = identity;
      this.#since = this.#clock();
    }
    const value = this.#value ?? (await read());
    if (identity !== undefined && this.#clock() - this.#since >= trusted) this.#value = value;
    return value;
  }

  /** Whether the file was of another identity when it was last read; false before that. */
  isOutdated(identity: string | undefined): boolean {
    return this.#identity !== undefined && identity !== this.#identity;
  }

  /** Frees the memory. How long the file has been unchanged stays known. */
  forget(): void {
    this.#value = undefined;
  }
}

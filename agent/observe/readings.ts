/**
 * Reads the files on the node: the Secret, our journal, config.json. Reads each file again only
 * after it has changed, so an idle round costs a few calls instead of reading and parsing 3 MiB.
 *
 * The calls block. The files are small and local, and twenty trips through Node's thread pool would
 * cost three times as much as the calls themselves.
 */
import { dirname, join } from "node:path";
import {
  nodeFiles,
  providerFiles,
  type ProviderScope,
  type PublishedMode,
} from "#contract/names.ts";
import type { Config } from "../facts/config.ts";
import type { BootTime, JournalReading } from "../journal/journal.ts";
import type { Seen } from "../api/api.ts";
import { type Contents, readContents } from "../delivery/contents.ts";
import { mountOf, readVolume } from "../delivery/volume.ts";
import { type NodeFile, readConfigFile } from "../delivery/config-json/config-json.ts";
import type { Installed } from "../delivery/provider/places.ts";
import { providerNames, readInstalled } from "../delivery/provider/provider.ts";
import { identify } from "../files/atomic-write.ts";
import { readRuntime, type RuntimePlace } from "../delivery/runtime/directory.ts";
import type { Runtime } from "../delivery/runtime/plan.ts";
import { readStore } from "../journal/store.ts";

type Known = Pick<Config, "secretDirectory" | "kubeletDirectory"> & RuntimePlace;
type Sources = Readonly<{
  config: Known;
  /** The pods that the credential provider serves; undefined in other modes. */
  scope: ProviderScope | undefined;
  /** Wall clock, milliseconds. */
  now: () => number;
  /** Milliseconds that never jump. */
  clock: () => number;
  bootTime: () => BootTime;
}>;

export class Readings {
  readonly #config: Known;
  readonly #scope: ProviderScope | undefined;
  /** When the node booted, in milliseconds since 1970. */
  readonly #booted: () => number;
  readonly #contents: Cached<Contents>;
  /** The Secret that the API server sent last, and how many came before it. */
  #secret: Readonly<{ data: Seen["secret"]; count: number }> = { data: "unknown", count: 0 };
  readonly #journal: Cached<JournalReading>;
  readonly #file: Cached<NodeFile>;
  readonly #installed: Cached<Installed>;

  constructor({ config, scope, clock, now, bootTime }: Sources) {
    this.#config = config;
    this.#scope = scope;
    this.#booted = () => now() - bootTime().monotonic;
    this.#contents = new Cached(clock);
    this.#journal = new Cached(clock);
    this.#file = new Cached(clock);
    this.#installed = new Cached(clock);
  }

  /**
   * The contents of the Secret that the API server sent, or of the volume if it has sent none.
   * `mode`: the mode of this agent.
   */
  contents(data: Seen["secret"], mode: PublishedMode): Promise<Contents> {
    if (data !== this.#secret.data) this.#secret = { data, count: this.#secret.count + 1 };
    const { secretDirectory } = this.#config;
    const source = data === "unknown" ? mountOf(secretDirectory) : String(this.#secret.count);
    return this.#contents.read(source && `${mode} ${source}`, () => {
      const read = (key: (name: string) => Buffer) => readContents(key, mode);
      if (data === "unknown") return readVolume(secretDirectory, read);
      if (data === "absent") return absent;
      return read((key) => Buffer.from(data[key] ?? "", "base64"));
    });
  }

  /** The folder counts, too: another program can remove the file that the journal names. */
  journal(): Promise<JournalReading> {
    const path = join(this.#config.kubeletDirectory, nodeFiles.journal);
    return this.#journal.read(identityOf(dirname(path), path), () => readStore(dirname(path)));
  }

  file(): Promise<NodeFile> {
    const path = join(this.#config.kubeletDirectory, nodeFiles.config);
    return this.#file.read(identityOf(path), () => readConfigFile(path));
  }

  /** The provider's files; without a provider, only its answer. */
  installed(): Promise<Installed> {
    const directory = this.#config.kubeletDirectory;
    const paths = [...providerNames, providerFiles.stamp].map((name) => join(directory, name));
    return this.#installed.read(identityOf(...paths), () =>
      readInstalled(directory, this.#scope, this.#booted()),
    );
  }

  /**
   * containerd's files. They are small and few, so they are read each time. `recorded`: where the
   * journal says that lines of ours might be, or empty.
   */
  runtime(recorded: string): Runtime | undefined {
    return readRuntime(this.#config, recorded);
  }

  /** Frees the memory. */
  forget(): void {
    for (const cache of [this.#contents, this.#journal, this.#file, this.#installed])
      cache.forget();
  }
}

/** The Secret does not exist. */
const absent: Contents = { kind: "incomplete", why: "it does not exist" };

/** `undefined` if a file cannot be examined. The attempt to read it then reports the reason. */
function identityOf(...files: readonly string[]): string | undefined {
  try {
    return files.map(identify).join(" ");
  } catch {
    return undefined;
  }
}

/**
 * A result is kept only if its file is unchanged for this many milliseconds. Two writes within one
 * tick of the file system's clock (10 ms, on some file systems 2 s) get the same time.
 */
const trusted = 10_000;

/** Caches the result of reading a file until the file changes. */
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
   * Returns a new or a cached result of `read`. The `identity` is taken before reading, so the next
   * round notices a change in between. `undefined` means that the file has no identity, so nothing
   * is kept.
   */
  async read(identity: string | undefined, read: () => T | Promise<T>): Promise<T> {
    if (identity !== this.#identity) {
      // The cached result is released before the next read, because there is not enough memory for
      // both.
      this.#value = undefined;
      this.#identity = identity;
      this.#since = this.#clock();
    }
    const value = this.#value ?? (await read());
    if (identity !== undefined && this.#clock() - this.#since >= trusted) this.#value = value;
    return value;
  }

  /** Frees the memory, but remembers how long the file has been unchanged. */
  forget(): void {
    this.#value = undefined;
  }
}

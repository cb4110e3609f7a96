/** Directories that a test makes, and that look to the agent like a node. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digestOf as digestOfBytes, previousPrefix } from "#agent/journal/journal.ts";
import { publishedMode, type PublishedMode } from "#contract/names.ts";
import { type Grant, keyOf } from "#contract/grant.ts";
import {
  beside,
  digestFor,
  filesFor,
  grantFilesFor,
  type MountedSources,
  noGrant,
} from "./mounted.ts";
import { inTime } from "./waiting.ts";

/**
 * The names of the journal and of the files in which the agent keeps these texts until it restores
 * them.
 */
export function keeping(...texts: readonly string[]): string[] {
  return [
    "journal.json",
    ...texts.map((text) => previousPrefix + digestOfBytes(Buffer.from(text))).toSorted(),
  ];
}

/**
 * A directory that looks to the agent like a node: kubelet directory, mounted Secret, termination
 * log.
 */
export class NodeDirectory implements Disposable {
  readonly root: string;
  readonly kubelet: string;
  readonly secret: string;
  /** The folder of systemd's own socket. */
  readonly systemd: string;
  readonly terminationLog: string;
  /** The pod's own directory. */
  readonly pod: string;
  readonly config: string;
  readonly folder: string;
  /** The default flags of agents on this node. */
  flags: readonly string[] = [];
  /** True for a new pod, which has reported nothing, and which must still confirm a withdrawal. */
  #isNew = false;
  #swaps = 0;
  #secret: Readonly<Record<string, string>> = {};
  #grant: Readonly<Record<string, string>> = noGrant;
  #mode: PublishedMode = "Restart";
  readonly #digests = new Map<number, string>();

  /** `kubelet`: an existing kubelet directory, such as a booted node's. */
  constructor(root = mkdtempSync(join(tmpdir(), "gps-node-")), kubelet = join(root, "kubelet")) {
    this.root = root;
    this.kubelet = kubelet;
    this.secret = join(root, "secret");
    this.systemd = join(root, "systemd");
    this.terminationLog = join(root, "termination-log");
    this.config = join(kubelet, "config.json");
    this.folder = join(kubelet, "global-pull-secret");
    this.pod = join(root, "pod");
    for (const directory of [kubelet, this.secret, this.pod])
      mkdirSync(directory, { recursive: true });
    writeFileSync(this.terminationLog, "");
  }

  /**
   * Mounts a revision as the kubelet does: makes a new directory, then replaces the `..data` link
   * by a rename.
   */
  mount(
    revision: number,
    content: MountedSources,
    others: Readonly<Record<string, string>> = {},
  ): void {
    this.#digests.set(revision, digestFor(revision, content));
    this.mountFiles({ ...filesFor(revision, content), ...others });
  }

  /**
   * Grants a revision. A repeated call makes a new grant only if `since` differs. The mounted
   * Secret stays the same. If the pod is not new, also records that the pod has confirmed a
   * withdrawal under this grant.
   */
  grant(revision: number, overrides: Partial<Grant> = {}): void {
    const digest = this.digest(revision);
    const grant = { revision, digest, since: "2026-11-26T18:25:07Z", word: false, ...overrides };
    this.#grant = grantFilesFor(grant);
    const word = join(this.pod, "report");
    const said = existsSync(word) ? readFileSync(word, "utf8") : "";
    const own = said.includes(keyOf(grant)) ? said : "";
    if (!this.#isNew && existsSync(this.pod) && !/^reported /m.test(own))
      writeFileSync(word, `${own}reported released ${keyOf(grant)}\n`);
    this.#swap();
  }

  /** Removes the pod's grant, so that the pod is like a new pod. */
  ungrant(): void {
    this.#grant = noGrant;
    this.#swap();
  }

  /**
   * The digest for a grant of this revision, from the content that was last mounted for the
   * revision.
   */
  digest(revision: number): string {
    return this.#digests.get(revision) ?? "";
  }

  /** Mounts these files of the Secret; absent keys get the values of an empty Secret. */
  mountFiles(files: Readonly<Record<string, string>>): void {
    this.#secret = { ...beside, ...files };
    this.#swap();
  }

  /** Sets the mode in the mounted Secret to the mode of an agent with these flags. */
  isFor(flags: readonly string[]): void {
    const isProvider = flags.includes("--delivery=CredentialProvider");
    const restarts = !flags.includes("--restart=Never");
    const mode = isProvider ? "CredentialProvider" : restarts ? "Restart" : "Reread";
    const scope = flags.includes("--scope=Annotated") ? "Annotated" : "All";
    this.#mode = publishedMode({ mode, scope });
    this.#swap();
  }

  #swap(): void {
    const isMounted = Object.keys(this.#secret).length > 0;
    const files = { ...this.#secret, ...(isMounted && { mode: this.#mode }), ...this.#grant };
    const before = existsSync(join(this.secret, "..data")) ? `..${this.#swaps}` : undefined;
    const name = `..${++this.#swaps}`;
    mkdirSync(join(this.secret, name));
    for (const [file, text] of Object.entries(files))
      writeFileSync(join(this.secret, name, file), text);
    symlinkSync(name, join(this.secret, "..data_tmp"));
    renameSync(join(this.secret, "..data_tmp"), join(this.secret, "..data"));
    for (const file of Object.keys(files))
      if (!existsSync(join(this.secret, file)))
        symlinkSync(`..data/${file}`, join(this.secret, file));
    if (before !== undefined) rmSync(join(this.secret, before), { recursive: true });
  }

  get file(): string | undefined {
    return existsSync(this.config) ? readFileSync(this.config, "utf8") : undefined;
  }

  /** Replaces the pod by a new pod that has reported nothing. */
  newPod(): void {
    this.#isNew = true;
    rmSync(join(this.pod, "report"), { force: true });
  }

  /** The names of the files in our folder, except the lock. */
  get kept(): string[] {
    const names = readdirSync(this.folder).filter((name) => !name.startsWith("lock-"));
    return names.toSorted();
  }

  get message(): string {
    return readFileSync(this.terminationLog, "utf8");
  }

  /** Waits for this termination message. The agent writes it after its readiness has changed. */
  async reports(words: RegExp): Promise<void> {
    if (!(await inTime(() => words.test(this.message))))
      throw new Error(`the termination message is ${this.message || "empty"}`);
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

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
import { digestOf as digestOfBytes, theirsPrefix } from "#agent/journal/journal.ts";
import { coveredFolders, publishedMode, type PublishedMode } from "#contract/names.ts";
import type { Order, Report } from "#contract/order.ts";
import type { Seen } from "#agent/api/api.ts";
import { beside, digestFor, filesFor, type MountedSources } from "./mounted.ts";
import { type ScriptedApi, scriptedApi } from "./api-server.ts";

/**
 * The names of the journal and of the files in which the agent keeps these texts until it restores
 * them.
 */
export function keeping(...texts: readonly string[]): string[] {
  return [
    "journal.json",
    ...texts.map((text) => theirsPrefix + digestOfBytes(Buffer.from(text))).toSorted(),
  ];
}

export const podUid = "3b2f6c1e-4e0e-4f86-9d6b-0a4a37b3b001";

/** The kernel's list of mounts in a container of this pod. `kubelet`: the mounted directory. */
export function mountsIn(kubelet: string): string {
  const source = "/var/lib/kubelet";
  return [
    `98 95 254:0 ${source} ${kubelet}`,
    ...coveredFolders.map((folder) => `98 97 254:0 /empty ${kubelet}/${folder}`),
    `99 97 254:0 ${source}/pods/${podUid}/containers/agent/1a2b3c4d /dev/termination-log`,
  ]
    .map((mount) => `${mount} rw,relatime - ext4 /dev/vda rw\n`)
    .join("");
}

/**
 * A directory that looks to the agent like a node: kubelet directory and mounted Secret. Also what
 * the API server has: the Secret, and the node's NodePullSecret.
 */
export class NodeDirectory implements Disposable {
  readonly root: string;
  readonly kubelet: string;
  readonly secret: string;
  /** The folder of systemd's own socket. */
  readonly systemd: string;
  /** The list of the agent's mounts. */
  readonly mountinfo: string;
  readonly config: string;
  readonly folder: string;
  /** The default flags of agents on this node. */
  flags: readonly string[] = [];
  /** What the node is asked for. Undefined: nothing. */
  order: Order | undefined;
  /** What the node has reported, for tests without an API server. */
  report: Report | undefined;
  /** The API server of the agents on this node, once it is connected. */
  api: ScriptedApi | undefined;
  #swaps = 0;
  readonly #ends: (() => void)[] = [];
  #secret: Readonly<Record<string, string>> = {};
  #data: Seen["secret"] = "absent";
  #mode: PublishedMode = "Restart";
  readonly #digests = new Map<number, string>();

  /** `kubelet`: an existing kubelet directory, such as a booted node's. */
  constructor(root = mkdtempSync(join(tmpdir(), "gps-node-")), kubelet = join(root, "kubelet")) {
    this.root = root;
    this.kubelet = kubelet;
    this.secret = join(root, "secret");
    this.systemd = join(root, "systemd");
    this.mountinfo = join(root, "mountinfo");
    this.config = join(kubelet, "config.json");
    this.folder = join(kubelet, "global-pull-secret");
    for (const directory of [kubelet, this.secret]) mkdirSync(directory, { recursive: true });
    writeFileSync(this.mountinfo, mountsIn(kubelet));
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
   * Asks the node for a revision; 0: for nothing. A repeated call is another order only if
   * `attempt` differs.
   */
  ask(revision: number, overrides: Partial<Order> = {}): void {
    const order = { revision, digest: this.digest(revision), attempt: revision, ...overrides };
    this.order = revision === 0 ? undefined : order;
    this.api?.order(this.order);
  }

  /**
   * The API server of the node's agents, which has the Secret and the order. The kubelet has
   * renewed its Lease, at a time after every restart.
   */
  async connected(host = "127.0.0.1"): Promise<ScriptedApi> {
    if (this.api !== undefined) return this.api;
    const after = (end: () => void) => void this.#ends.push(end);
    const api = await scriptedApi({ after }, { node: "node1", host });
    this.api = api;
    this.#publish();
    api.order(this.order);
    api.lease("2100-01-01T00:00:00.000000Z");
    return api;
  }

  /** What an agent of this node has seen of the API server's objects. */
  seen(): Seen {
    return { secret: this.#data, own: { uid: "uid", order: this.order, report: this.report } };
  }

  /**
   * The digest for an order of this revision, from the content that was last mounted for the
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

  /** The Secret's keys with their values; empty if there is no Secret. */
  get #files(): Readonly<Record<string, string>> {
    const isMounted = Object.keys(this.#secret).length > 0;
    return { ...this.#secret, ...(isMounted && { mode: this.#mode }) };
  }

  #publish(): void {
    const files = this.#files;
    const encoded = Object.entries(files).map(([key, text]) => [
      key,
      Buffer.from(text).toString("base64"),
    ]);
    this.#data = encoded.length === 0 ? "absent" : Object.fromEntries(encoded);
    this.api?.secret(encoded.length === 0 ? undefined : files);
  }

  #swap(): void {
    this.#publish();
    const files = this.#files;
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

  /** The names of the files in our folder, except the lock. */
  get kept(): string[] {
    const names = readdirSync(this.folder).filter((name) => !name.startsWith("lock-"));
    return names.toSorted();
  }

  [Symbol.dispose](): void {
    for (const end of this.#ends) end();
    rmSync(this.root, { recursive: true, force: true });
  }
}

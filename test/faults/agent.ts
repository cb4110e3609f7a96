/**
 * The agent as it is deployed, as a process on directories of its own and a private bus: the
 * bundle, under the DaemonSet's flags and environment, as root without capabilities.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
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
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { digestOf as digestOfBytes, previousPrefix } from "#agent/journal/journal.ts";
import type { Content as Found } from "#agent/facts/search.ts";
import { digestOf, saltLength } from "#pullsecret/merge/digest.ts";
import { credentialFiles, type Intent, podFiles } from "#contract/names.ts";
import { freePort } from "../free-port.ts";
import { agentBundle, environment, nodeFlags, withoutCapabilities } from "./deployed.ts";

/** What our folder keeps where these files are still to come back. */
export function keeping(...texts: readonly string[]): string[] {
  return [
    "journal.json",
    ...texts.map((text) => previousPrefix + digestOfBytes(Buffer.from(text))).toSorted(),
  ];
}

/** Of readiness: not ready is 500 and the number of the code that the line begins with. */
export type Answer = 200 | "5nn";

export function isAnswer(wanted: Answer, status: number, body: string): boolean {
  if (wanted === 200) return status === 200;
  return status === 500 + Number(/^GPS2(\d\d) /.exec(body)?.[1]);
}

export type Content = Readonly<{
  additional?: Readonly<Record<string, string>>;
  original?: Readonly<Record<string, string>>;
  /** Without one: `release`, if there is nothing additional. */
  intent?: Intent;
}>;

/**
 * A directory that looks to the agent like a node: kubelet directory, mounted Secret, termination
 * log.
 */
export class Node implements Disposable {
  readonly root: string;
  readonly kubelet: string;
  readonly secret: string;
  readonly dbus: string;
  readonly terminationLog: string;
  /** The pod's own directory: a new node's pod has ended before, to say its words (word.ts). */
  readonly pod: string;
  readonly config: string;
  readonly folder: string;
  /** Of its agents, where a test gives no others. */
  flags: readonly string[] = [];
  #swaps = 0;
  readonly #digests = new Map<number, string>();

  /** `kubelet`: a kubelet directory that is there already, such as a booted node's. */
  constructor(root = mkdtempSync(join(tmpdir(), "gps-node-")), kubelet = join(root, "kubelet")) {
    this.root = root;
    this.kubelet = kubelet;
    this.secret = join(root, "secret");
    this.dbus = join(root, "dbus");
    this.terminationLog = join(root, "termination-log");
    this.config = join(kubelet, "config.json");
    this.folder = join(kubelet, "global-pull-secret");
    this.pod = join(root, "pod");
    for (const directory of [kubelet, this.secret, this.pod])
      mkdirSync(directory, { recursive: true });
    writeFileSync(join(this.pod, "word"), "refused\nreleased\n");
    this.sees({});
    writeFileSync(this.terminationLog, "");
  }

  /**
   * What the pod's first container saw at the places that a kubelet searches besides its own
   * directory.
   */
  sees(others: Readonly<Record<string, Found>>): void {
    const files = {
      ...Object.fromEntries(credentialFiles.map((path) => [path, "none"])),
      ...others,
    };
    writeFileSync(join(this.pod, podFiles.hidden), JSON.stringify({ kind: "seen", files }));
  }

  /**
   * Mounts a revision as the kubelet does: new directory, then the `..data` link swapped by rename.
   */
  mount(revision: number, content: Content): void {
    this.#digests.set(revision, digestFor(revision, content));
    this.mountFiles(filesFor(revision, content));
  }

  /** What the template of this revision's agents says; that of the last mount of this number. */
  digest(revision: number): string {
    return this.#digests.get(revision) ?? "";
  }

  mountFiles(files: Readonly<Record<string, string>>): void {
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

  /** config.json as text; `undefined` if absent. */
  get file(): string | undefined {
    return existsSync(this.config) ? readFileSync(this.config, "utf8") : undefined;
  }

  /** From now on the pod is a new one, which has said nothing. */
  newPod(): void {
    rmSync(join(this.pod, "word"), { force: true });
  }

  /** What lies in our folder, but for the lock. */
  get kept(): string[] {
    const names = readdirSync(this.folder).filter((name) => !name.startsWith("lock-"));
    return names.toSorted();
  }

  get message(): string {
    return readFileSync(this.terminationLog, "utf8");
  }

  /** Waits for these last words: they are written after readiness has changed. */
  async says(words: RegExp): Promise<void> {
    if (!(await inTime(() => words.test(this.message))))
      throw new Error(`the last words are ${this.message || "none"}`);
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/**
 * The files of a revision in the mounted Secret. Its salt is its number: most tests have one
 * content for each.
 */
function filesFor(revision: number, { additional = {}, original = {}, intent }: Content) {
  const entries = { ...original, ...additional };
  const auths = Object.fromEntries(
    Object.entries(entries).map(([key, password]) => [key, { auth: encode(password) }]),
  );
  const sources = Object.fromEntries(
    Object.keys(entries).map((key) => [key, key in additional ? "additional" : "original"]),
  );
  return {
    ".dockerconfigjson": JSON.stringify({ auths }),
    revision: String(revision),
    salt: String(revision).padStart(saltLength, "0"),
    intent: intent ?? (Object.keys(additional).length > 0 ? "apply" : "release"),
    sources: JSON.stringify(sources),
  } as const;
}

/** What the template says of such a revision. */
export function digestFor(revision: number, content: Content): string {
  const { salt, intent, sources, ".dockerconfigjson": document } = filesFor(revision, content);
  const bytes = (text: string) => Buffer.from(text);
  return digestOf({
    salt: bytes(salt),
    intent,
    sources: bytes(sources),
    document: bytes(document),
  });
}

export function encode(password: string): string {
  return Buffer.from(`user:${password}`).toString("base64");
}

export type AgentOptions = Readonly<{
  revision: number;
  healthzPort: number;
  flags?: readonly string[];
  /** Program and arguments put before it, such as strace. */
  under?: readonly string[];
  /** Flags of Node itself, beside the DaemonSet's. */
  nodeFlags?: readonly string[];
  probePort?: number;
  /** Another bundle than the checkout's. */
  program?: string;
  /** Of the revision, as the pod's template gives it; without it that of its last mount. */
  digest?: string;
}>;

/** A flag may be given once: what a test says of the probation stands for what is usual. */
export function withSettle(seconds: number, flags: readonly string[]): readonly string[] {
  return flags.some((flag) => flag.startsWith("--probation="))
    ? flags
    : [`--probation=${seconds}s`, ...flags];
}

export class Agent implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly port: number;
  output = "";

  private constructor(child: ChildProcess, port: number) {
    this.child = child;
    this.port = port;
    child.stdout?.on("data", (data) => (this.output += String(data)));
    child.stderr?.on("data", (data) => (this.output += String(data)));
  }

  static async start(node: Node, options: AgentOptions): Promise<Agent> {
    const port = options.probePort ?? (await freePort());
    const [command = "", ...args] = [
      ...(options.under ?? []),
      ...withoutCapabilities,
      process.execPath,
      ...nodeFlags(node),
      ...(options.nodeFlags ?? []),
      options.program ?? (await agentBundle()),
      `--secret-directory=${node.secret}`,
      `--kubelet-directory=${node.kubelet}`,
      `--dbus-directory=${node.dbus}`,
      `--termination-log=${node.terminationLog}`,
      `--pod-directory=${node.pod}`,
      `--probe-port=${port}`,
      `--healthz-port=${options.healthzPort}`,
      ...withSettle(1, options.flags ?? node.flags),
    ];
    const { revision, digest = node.digest(revision) } = options;
    const env = {
      ...process.env,
      ...environment,
      REVISION: String(revision),
      DIGEST: digest,
      NODE_NAME: "node1",
    };
    return new Agent(spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] }), port);
  }

  /** Status and body of the readiness probe; 0 while nobody listens or answers within 2 s. */
  probe(query = ""): Promise<{ status: number; body: string }> {
    const { promise, resolve: answer } = Promise.withResolvers<{ status: number; body: string }>();
    const asking = request(
      {
        host: "127.0.0.1",
        port: this.port,
        path: `/readyz${query}`,
        agent: false,
        signal: AbortSignal.timeout(2000),
      },
      (response) => {
        let body = "";
        response.on("data", (data) => (body += String(data)));
        response.on("end", () => answer({ status: response.statusCode ?? 0, body }));
      },
    );
    asking.on("error", () => answer({ status: 0, body: "" }));
    asking.end();
    return promise;
  }

  /** Waits until readiness answers so, with a line that has `text` in it. */
  async shows(status: Answer, text = "", within = 15_000): Promise<string> {
    let last = "";
    const seen = await inTime(async () => {
      const { status: now, body } = await this.probe();
      last = `${now} ${body}`;
      return isAnswer(status, now, body) && body.includes(text);
    }, within);
    if (!seen) throw new Error(`readiness is not ${status} ${text} but ${last}\n${this.output}`);
    return last;
  }

  /** Exit code, or the signal's name. */
  async ended(): Promise<number | string> {
    if (this.child.exitCode === null && this.child.signalCode === null)
      await once(this.child, "exit");
    return this.child.exitCode ?? this.child.signalCode ?? "";
  }

  async end(signal: NodeJS.Signals): Promise<number | string> {
    this.child.kill(signal);
    return await this.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}

/** Awaits a condition; answers whether it came true in time. */
export async function inTime(
  condition: () => Promise<boolean> | boolean,
  within = 15_000,
): Promise<boolean> {
  const deadline = performance.now() + within;
  while (performance.now() < deadline) {
    if (await condition()) return true;
    await sleep(20);
  }
  return false;
}

/**
 * One node: its kubelet, its directory, what the controller asks of it, and its agent. The agent is
 * the real one (process.ts). It can be killed before any change that it makes in the file system,
 * and other programs can write while it works.
 */
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeFiles, providerFiles } from "#contract/names.ts";
import type { Order } from "#contract/order.ts";
import type { Seen } from "#agent/api/api.ts";
import type { NewReport } from "#agent/api/objects.ts";
import type { Healthz } from "#agent/facts/facts.ts";
import type { Step } from "#agent/facts/step.ts";
import type { BootTime } from "#agent/journal/journal.ts";
import { failureStep } from "#agent/report/status.ts";
import type { Unit } from "#agent/systemd/unit.ts";
import { installProvider } from "#test/faults/provider.ts";
import { installContainerd } from "#test/faults/runtime.ts";
import { type Effect, watching } from "./effects.ts";
import {
  auths,
  contains,
  type Entries,
  isBad,
  isDeadly,
  isOurs,
  none,
  type NodeFile,
  partsOf,
  wordsIn,
} from "./file.ts";
import { Hosts } from "./hosts.ts";
import { Kubelet } from "./kubelet.ts";
import { law } from "./laws.ts";
import { type Mode, Process } from "./process.ts";
import { dataOf, type Secret } from "./secret.ts";

/** The parts of the agent's journal that the histories look at. */
type Journal = Readonly<{
  phase: string;
  content: Readonly<{ revision: number; entries: readonly unknown[] }>;
}>;

class Killed extends Error {}

/** Directories in memory, because the agent syncs each write. */
const memory = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const longestPause = 60_000;
/** What the wall clock shows when the histories' clock is at 0. */
const epoch = 1.7e12;

export class Node implements Disposable {
  readonly kubelet = new Kubelet();
  readonly directory = mkdtempSync(join(memory, "gps-history-"));
  mode: Mode = "Restart";
  /** The kubelet has run the provider's script since this boot. */
  isAsked = false;
  secret: Secret;
  order: Order | undefined;
  report: NewReport | undefined;
  /** What the agent last received from the API server. */
  seen: Readonly<{ secret: Secret; order: Order | undefined }>;
  isSilent = false;
  isFull = false;
  isWithoutSystemd = false;
  /** systemd refuses every restart. */
  refuses = false;
  /** A process of another user has the healthz port. */
  isHijacked = false;
  /** The agent is killed before its change with this number, or before a commit; 0: never. */
  kill: number | "commit" = 0;
  /** What other programs do while the agent writes. */
  between: (() => void) | undefined;
  last: Step | undefined;
  /** config.json as the agent's last round found it. */
  found = "";
  /** Removed words, with the images that they served. */
  readonly gone = new Map<string, string>();
  readonly trace: string[] = [];
  readonly #path = join(this.directory, nodeFiles.config);
  readonly #folder = join(this.directory, nodeFiles.folder);
  #process: Process | undefined;
  #isKilled = false;
  /** Rounds with the same code in succession. */
  #repeats = 0;
  #boot = 1;
  #booted = 0;
  #read: Readonly<{ entries: Entries; at: number }> | undefined;

  /** containerd's hosts.toml files; undefined if the node is not prepared for them. */
  readonly hosts: Hosts | undefined;
  /** The agent's flags in every mode. */
  readonly flags: readonly string[];

  /** `isPrepared`: an installer has prepared the node for every mode. */
  constructor(isPrepared: boolean) {
    const newest = { revision: 0, entries: none, original: new Set<string>(), isRelease: false };
    this.secret = { newest, served: undefined, former: "" };
    this.seen = { secret: this.secret, order: undefined };
    this.kubelet.isDeadly = () => isDeadly(auths(this.config));
    this.kubelet.started = () => (this.#read = undefined);
    this.flags = isPrepared ? installContainerd(this.directory) : [];
    if (!isPrepared) return;
    installProvider(this.directory, ["b.io:5000"]);
    this.hosts = new Hosts(join(this.directory, "containerd/certs.d"));
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true });
  }

  say(line: string): void {
    this.trace.push(`${((this.kubelet.now - 2e6) / 1000).toFixed(1).padStart(9)} s  ${line}`);
  }

  // What is on the disk

  get config(): NodeFile {
    const stats = lstatSync(this.#path, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    return { bytes: readFileSync(this.#path, "utf8"), mode: stats.mode & 0o7777 };
  }

  set config(file: NodeFile) {
    rmSync(this.#path, { force: true });
    if (file !== undefined) writeFileSync(this.#path, file.bytes, { mode: file.mode });
  }

  get journal(): Journal | undefined {
    const path = join(this.directory, nodeFiles.journal);
    try {
      return JSON.parse(readFileSync(path, "utf8")) as Journal;
    } catch {
      return undefined;
    }
  }

  get hasFolder(): boolean {
    return existsSync(this.#folder);
  }

  /** All text in our folder. */
  get folderText(): string {
    if (!this.hasFolder) return "";
    const names = readdirSync(this.#folder);
    return names.map((name) => readFileSync(join(this.#folder, name), "utf8")).join("\n");
  }

  /** The agent's folder is deleted, or a file in it, if there is one, is damaged or deleted. */
  lose(what: "the folder" | "the journal" | "others' bytes"): void {
    const path = join(this.directory, nodeFiles.journal);
    const theirs = readdirSync(this.#folder).filter((name) => name.startsWith("theirs-"));
    if (what === "the journal" && existsSync(path)) truncateSync(path, 10);
    else if (what === "others' bytes" && theirs.length > 0)
      for (const name of theirs) rmSync(join(this.#folder, name));
    else rmSync(this.#folder, { recursive: true });
  }

  /** The words in the provider's answer. */
  get answered(): Entries {
    const path = join(this.directory, providerFiles.answer);
    if (!existsSync(path)) return none;
    const text = readFileSync(path, "utf8");
    const { auth } = JSON.parse(text) as { auth: Record<string, { password: string }> };
    return new Map(Object.entries(auth).map(([key, { password }]) => [key, password]));
  }

  // What happens to the node

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  stopAgent(): void {
    this.#process = undefined;
  }

  /** `restarts`: how often systemd restarts the kubelet before an agent runs. */
  reboot(restarts: number): void {
    this.stopAgent();
    this.kubelet.now += 10_000;
    this.#boot += 1;
    this.#booted = this.kubelet.now - 1000;
    this.isAsked = false;
    this.kubelet.start(false);
    this.kubelet.autos = restarts;
  }

  /** The kubelet runs the provider's script. */
  ask(): void {
    this.isAsked = true;
    const stamp = join(this.directory, providerFiles.stamp);
    writeFileSync(stamp, "");
    utimesSync(stamp, this.wall(this.kubelet.now) / 1000, this.wall(this.kubelet.now) / 1000);
  }

  /** What the kubelet would use for a pull. It keeps what it has read for five minutes. */
  pull(): Entries {
    const { now } = this.kubelet;
    if (this.#read === undefined || now - this.#read.at >= 300_000) {
      const entries = auths(this.config);
      this.#read = { at: now, entries: [...entries.values()].some(isBad) ? none : entries };
    }
    return this.#read.entries;
  }

  async run(milliseconds: number): Promise<void> {
    const end = this.kubelet.now + milliseconds;
    while (this.kubelet.now < end) {
      const pause = await this.round();
      this.kubelet.pass(Math.min(pause, Math.max(1, end - this.kubelet.now)));
    }
  }

  /** One round of the agent. Returns the milliseconds until the next. */
  async round(): Promise<number> {
    if (!this.isSilent) {
      this.seen = { secret: this.secret, order: this.order };
      this.report = this.#process?.report ?? this.report;
    }
    this.found = this.#text;
    this.#process ??= this.makeProcess();
    const before = this.last;
    const { again, code } = await this.#step(this.#process);
    this.#repeats = before?.code === code ? this.#repeats + 1 : 0;
    if (again === "back off") return Math.min(30_000, 1000 * 2 ** this.#repeats);
    // Most rounds would look at the same state. The agent sees each death of a process.
    const { now, nextEvent } = this.kubelet;
    const late = Math.min(longestPause, 5 * 2 ** this.#repeats, nextEvent - now + 250);
    return Math.max(again, late);
  }

  protected makeProcess(): Process {
    return new Process(this);
  }

  async #step(process: Process): Promise<Step> {
    let step: Step | undefined;
    try {
      await watching(
        (effect) => this.#effect(effect),
        async () => {
          step = await process.next();
          this.#note(step);
          await process.act(step);
        },
      );
      return step as Step;
    } catch (error) {
      if (this.#isKilled) {
        this.#isKilled = false;
        this.stopAgent();
        this.say("   killed");
        return { ...(step as Step), again: 1000 };
      }
      const failure = failureStep(error);
      if (failure.code === "GPS228") throw error;
      this.#note(failure);
      return failure;
    }
  }

  #note(step: Step): void {
    if (step.action !== this.last?.action || step.code !== this.last.code)
      this.say(`   ${step.action} ${step.code} ${step.detail ?? ""}`);
    this.last = step;
  }

  /** The agent has seen the file as it is, and has nothing to write. */
  get isSeen(): boolean {
    const { action = "", code = "" } = this.last ?? {};
    const isIdle = action === "nothing" || (action === "wait" && !/GPS2(07|08|25)/.test(code));
    const isRecorded = this.#process?.describes(this.config) === true;
    return isIdle && isRecorded && this.found === this.#text;
  }

  /** The agent has put the file right, as far as it could. */
  get isSettled(): boolean {
    const isStaged = existsSync(join(this.#folder, "commit.staged"));
    const isTrying = this.last?.action === "wait" && this.last.again === 500;
    return this.#process !== undefined && !isStaged && !isTrying;
  }

  get #text(): string {
    const { config } = this;
    return `${config?.bytes} ${config?.mode}`;
  }

  // What the agent meets

  #effect({ call, path, from }: Effect): void {
    if (this.#isKilled) throw new Killed();
    if (this.isFull && (call === "openSync" || call === "mkdirSync"))
      throw Object.assign(new Error(`ENOSPC, ${call}`), { code: "ENOSPC", syscall: call });
    if (path.endsWith("commit.staged")) {
      this.between?.();
      this.between = undefined;
    }
    const isPut = call === "renameSync" && path === this.#path;
    if (this.#isKilledBefore(isPut)) {
      this.#isKilled = true;
      throw new Killed();
    }
    this.#checkFolder();
    if (isPut) this.#checkPut(from);
  }

  /** The laws of our folder, before each change that the agent makes. */
  #checkFolder(): void {
    if (!this.hasFolder) return;
    const names = readdirSync(this.#folder);
    // What becomes config.json has its mode.
    for (const name of names.filter((other) => !other.startsWith("config.json"))) {
      const { mode } = lstatSync(join(this.#folder, name));
      law((mode & 0o777) === 0o600, `${name} in our folder has mode ${mode.toString(8)}`);
    }
    // During a commit, two journals count.
    if (this.journal === undefined || names.includes("commit.staged")) return;
    const recorded = readFileSync(join(this.directory, nodeFiles.journal), "utf8");
    for (const name of names.filter((other) => other.startsWith("unreadable-")))
      for (const word of wordsIn(readFileSync(join(this.#folder, name), "utf8")))
        law(!isOurs(word) || contains(recorded, word), `${name} has ${word}, which has left`);
  }

  #isKilledBefore(isPut: boolean): boolean {
    if (this.kill === 0) return false;
    this.kill = this.kill === "commit" ? (isPut ? 0 : "commit") : this.kill - 1;
    return this.kill === 0;
  }

  /** The laws of what the agent puts in place of config.json. */
  #checkPut(staged: string): void {
    const { last } = this;
    if (last?.action !== "commit") return law(false, `${last?.action} writes config.json`);
    const { theirs, content } = last.commit.journal;
    const bytes = readFileSync(staged, "utf8");
    const file = { bytes, mode: lstatSync(staged).mode };
    const isTheirs = "bytes" in theirs && theirs.bytes.toString() === bytes;
    const isReadable = partsOf(file) !== undefined && ![...auths(file).values()].some(isBad);
    law(isTheirs || isReadable, "bytes are written that kubelets cannot read");
    const hasOurs = content.entries.some(({ place }) => place === "file" || place === "both");
    law(!hasOurs || (file.mode & 0o077) === 0, "others can read our entries");
    if (this.seen.secret === this.secret)
      for (const word of this.gone.keys())
        law(!contains(bytes, word), `a removed value is written again: ${word}`);
  }

  /** What the API server has sent. */
  get received(): Seen {
    const own = { uid: "uid", order: this.seen.order, report: this.report };
    return { secret: dataOf(this.seen.secret, this.mode), own: own as Seen["own"] };
  }

  wall(at: number): number {
    return epoch + at;
  }

  get time(): BootTime {
    return { boot: `boot ${this.#boot}`, monotonic: this.kubelet.now - this.#booted };
  }

  get healthz(): Healthz {
    const { works, isWedged } = this.kubelet;
    if (this.isHijacked) return "foreign";
    return works ? "answers" : isWedged ? "silent" : "nobody";
  }

  get unit(): Unit {
    const { state, invocation, since, autos } = this.kubelet;
    const [active, sub] = states[state];
    return {
      name: "kubelet.service",
      load: "loaded",
      active,
      sub,
      invocation: String(invocation),
      busy: false,
      mainPid: state === "alive" || state === "starting" ? invocation : 0,
      started: since - this.#booted,
      restarts: autos,
      result: "success",
      refuses: false,
      startLimit: 10_000,
    };
  }

  /** RestartUnit. Returns whether systemd does it. */
  restart(): boolean {
    this.#effect({ call: "RestartUnit", path: "", from: "" });
    if (this.refuses && !this.kubelet.isDeadly()) return false;
    this.kubelet.request(this.last?.action === "restart" ? this.last.journal.phase : "");
    return true;
  }
}

const states = {
  alive: ["active", "running"],
  starting: ["activating", "start"],
  "auto-restart": ["activating", "auto-restart"],
  dead: ["failed", "failed"],
} as const;

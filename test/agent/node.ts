/**
 * One node in memory, with the agent's real decisions. The adapter: it makes facts of the simulated
 * node, and carries out steps. The agent can be killed between any two effects, and other programs
 * can write between staging and renaming.
 */
import type { Order } from "#contract/order.ts";
import { entriesOf } from "#pullsecret/provider.ts";
import { nextFormer, readFormer } from "#pullsecret/merge/former.ts";
import { decide } from "#agent/decide/decide.ts";
import type { Contents } from "#agent/delivery/contents.ts";
import type { Published } from "#agent/delivery/mount.ts";
import { documentIn } from "#agent/delivery/config-json/overlay.ts";
import type { Facts, UnitFact } from "#agent/facts/facts.ts";
import { orderFor } from "#agent/facts/order.ts";
import type { Step } from "#agent/facts/step.ts";
import { dropsValues, type File, type Journal } from "#agent/journal/journal.ts";
import { History } from "#agent/observe/stopwatch.ts";
import {
  auths,
  authOf,
  contains,
  type Entries,
  isBad,
  none,
  type NodeFile,
  partsOf,
} from "./file.ts";
import { Kubelet } from "./kubelet.ts";
import { law } from "./laws.ts";

export const modes = ["Restart", "Reread", "Provider"] as const;
export type Mode = (typeof modes)[number];

/** `original`: registries whose entry comes from the original pull secret. */
type Content = Readonly<{
  revision: number;
  entries: Entries;
  original: ReadonlySet<string>;
  isRelease: boolean;
}>;
/** The Secret: newest and served content, and the key `former`. */
export type Secret = Readonly<{ newest: Content; served: Content | undefined; former: string }>;
type Report = Order & Readonly<{ result: "Proved" | "Failed" }>;

class Killed extends Error {}
const full = "ENOSPC";
const rows = ["a.io", "docker.io", "index.docker.io", "b.io:5000", "*.d.io", "q.io"];

type Staged = { journal: Journal; isRenamed: boolean };
type Folder = { journal?: Journal | undefined; staged?: Staged | undefined; unreadable: string[] };
type Agent = { memory?: Journal | undefined; file: string; since: number; history: History };

export class Node {
  readonly kubelet = new Kubelet();
  boot = 1;
  mode: Mode = "Restart";
  config: NodeFile;
  answer: string | undefined;
  /** The kubelet has run the provider's script since this boot. */
  isAsked = false;
  folder: Folder | undefined;
  secret: Secret;
  order: Order | undefined;
  report: Report | undefined;
  /** What the agent last received from the API server. */
  seen: Readonly<{ secret: Secret; order: Order | undefined }>;
  isSilent = false;
  isFull = false;
  isWithoutSystemd = false;
  /** systemd refuses every restart. */
  refuses = false;
  /** A process of another user has the healthz port. */
  isHijacked = false;
  agent: Agent | undefined;
  /** The agent is killed at the effect with this number; 0: never. */
  kill = 0;
  /** What other programs do between staging and renaming. */
  between: (() => void) | undefined;
  last: Step | undefined;
  /** Removed words, with the images that they served. */
  readonly gone = new Map<string, string>();
  readonly trace: string[] = [];
  #read: Readonly<{ entries: Entries; at: number }> | undefined;

  constructor() {
    const newest = { revision: 0, entries: none, original: new Set<string>(), isRelease: false };
    this.secret = { newest, served: undefined, former: "" };
    this.seen = { secret: this.secret, order: undefined };
    this.kubelet.isDeadly = () => [...auths(this.config).values()].some((w) => w.startsWith("oX"));
    this.kubelet.started = () => (this.#read = undefined);
  }

  say(line: string): void {
    this.trace.push(`${((this.kubelet.now - 2e6) / 1000).toFixed(1).padStart(9)} s  ${line}`);
  }

  get journal(): Journal | undefined {
    return this.agent?.memory ?? this.folder?.journal;
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

  run(milliseconds: number): void {
    const end = this.kubelet.now + milliseconds;
    while (this.kubelet.now < end) {
      const pause = this.round();
      this.kubelet.pass(Math.min(pause, Math.max(1, end - this.kubelet.now)));
    }
  }

  /** One round of the agent. Returns the milliseconds until the next. */
  round(): number {
    const agent = (this.agent ??= this.#startAgent());
    if (!this.isSilent) this.seen = { secret: this.secret, order: this.order };
    const facts = this.#facts(agent);
    let step = decide(facts);
    if (step.action === "ask") step = decide({ ...facts, kubelet: this.#kubeletFact() });
    if (step.action === "ask") throw new Error("asked twice");
    if (step.action !== this.last?.action || step.code !== this.last.code)
      this.say(`   ${step.action} ${step.code} ${step.detail ?? ""}`);
    this.last = step;
    this.#report(step);
    try {
      this.#act(step, agent, this.journal);
    } catch (error) {
      if (error instanceof Killed) {
        this.say("   killed");
        this.agent = undefined;
        return 1000;
      }
      if ((error as Error).message !== full) throw error;
      agent.history.failed(full);
      return 250;
    }
    return step.again === "back off" ? 1000 : Math.max(step.again, 5);
  }

  /** A started agent completes or drops the commit of a killed one. */
  #startAgent(): Agent {
    const { folder } = this;
    if (folder?.staged?.isRenamed) folder.journal = folder.staged.journal;
    if (folder) delete folder.staged;
    const history = new History(() => this.kubelet.now);
    return { memory: folder?.journal, file: "", since: this.kubelet.now, history };
  }

  #facts(agent: Agent): Facts {
    const { now } = this.kubelet;
    const file = `${this.config?.bytes} ${this.config?.mode}`;
    if (agent.file !== file) Object.assign(agent, { file, since: now });
    const { journal } = this;
    const own = { order: this.seen.order, report: this.report };
    const installed = this.mode === "Provider" ? { rows, asked: this.isAsked } : noProvider;
    const present = fileOf(this.config);
    const isReadable = documentIn(present) !== undefined;
    return {
      config: {
        restart: this.mode === "Restart" ? "Always" : "Never",
        scope: this.mode === "Provider" ? "All" : undefined,
        probation: 5000,
        healthzPort: 10248,
        healthzAddress: "auto",
      },
      order: orderFor(own as Parameters<typeof orderFor>[0], journal),
      time: { boot: `boot ${this.boot}`, monotonic: now },
      alone: true,
      elsewhere: undefined,
      contents: contentsOf(this.seen.secret),
      journal: journal === undefined ? { kind: "none" } : { kind: "journal", journal },
      vanished: journal !== undefined && journal !== this.folder?.journal,
      leftovers: journal === undefined && this.folder !== undefined,
      file: {
        kind: "file",
        file: present,
        identity: file,
        unreadable: isReadable ? undefined : "it is not JSON",
      },
      unchangedFor: now - agent.since,
      installed: {
        ...installed,
        answer: this.answer === undefined ? undefined : Buffer.from(this.answer),
        identity: "",
      },
      kubelet: undefined,
      writeIn: agent.history.writeIn(),
      blocked: agent.history.blocked(),
    };
  }

  #kubeletFact(): NonNullable<Facts["kubelet"]> {
    const { kubelet } = this;
    const works = kubelet.works ? "answers" : kubelet.isWedged ? "silent" : "nobody";
    const isRenewed = kubelet.leaseRenewed > kubelet.since;
    return {
      unit: this.#unit(),
      healthz: this.isHijacked ? "foreign" : works,
      isLeased: isRenewed && kubelet.now - kubelet.leaseRenewed < 40_000,
    };
  }

  #unit(): UnitFact {
    if (this.mode !== "Restart") return { notAsked: true };
    if (this.isWithoutSystemd) return { unknown: "connect ECONNREFUSED" };
    const { state, invocation, since, autos } = this.kubelet;
    const [active, sub] = {
      alive: ["active", "running"],
      starting: ["activating", "start"],
      "auto-restart": ["activating", "auto-restart"],
      dead: ["failed", "failed"],
    }[state] as [string, string];
    return {
      name: "kubelet.service",
      load: "loaded",
      active,
      sub,
      invocation: String(invocation),
      busy: false,
      mainPid: state === "alive" || state === "starting" ? invocation : 0,
      started: since,
      restarts: autos,
      result: "success",
      refuses: false,
      startLimit: 10_000,
      restartDelay: 10_000,
    };
  }

  #report(step: Step): void {
    const result = "result" in step ? step.result : undefined;
    const { order } = this.seen;
    const content = this.journal?.content;
    if (result === "Failed" && order !== undefined) this.report = { ...order, result };
    if (result !== "Proved" || content === undefined || content.revision === 0) return;
    const isAsked = order?.revision === content.revision;
    if (isAsked) this.report = { ...order, result };
  }

  #tap(): void {
    if (this.isFull) throw new Error(full);
    if (this.kill > 0 && --this.kill === 0) throw new Killed();
  }

  #save(journal: Journal, former: Journal | undefined): void {
    this.#tap();
    const folder = (this.folder ??= { unreadable: [] });
    if (dropsValues(former, journal)) folder.unreadable = [];
    folder.journal = journal;
    if (this.agent) this.agent.memory = journal;
    this.agent?.history.succeeded();
  }

  #act(step: Step, agent: Agent, journal: Journal | undefined): void {
    switch (step.action) {
      case "record":
        this.#save(step.journal, step.former);
        break;
      case "answer":
        this.#tap();
        this.answer = step.answer.bytes.toString();
        break;
      case "leave":
        this.#tap();
        this.folder = undefined;
        agent.memory = undefined;
        break;
      case "commit":
        this.#commit(step, agent);
        break;
      case "restart":
        this.#restart(step, agent, journal);
        break;
      default:
    }
  }

  #commit({ commit, answer }: Extract<Step, { action: "commit" }>, agent: Agent): void {
    const before = this.config;
    if (answer !== undefined) {
      this.#tap();
      this.answer = answer.bytes.toString();
    }
    this.#tap();
    const folder = (this.folder ??= { unreadable: [] });
    const { unreadable, journal, former, file } = commit;
    if (unreadable !== undefined)
      folder.unreadable = [...folder.unreadable, unreadable.toString()].slice(-3);
    folder.staged = { journal, isRenamed: false };
    this.between?.();
    this.between = undefined;
    this.#tap();
    if (this.config !== before) {
      delete folder.staged;
      agent.history.wrote();
      return;
    }
    this.#put(file, journal);
    folder.staged.isRenamed = true;
    this.#tap();
    folder.journal = agent.memory = journal;
    delete folder.staged;
    if (dropsValues(former, journal)) folder.unreadable = [];
    agent.history.wrote();
    agent.history.succeeded();
  }

  #restart(
    { journal, former, refused }: Extract<Step, { action: "restart" }>,
    agent: Agent,
    before: Journal | undefined,
  ): void {
    if (journal !== former) {
      try {
        this.#save(journal, former);
      } catch (error) {
        if (error instanceof Killed) throw error;
      }
      agent.memory = journal;
    }
    if (!this.isFull) this.#tap();
    if (!this.refuses || this.kubelet.isDeadly()) return this.kubelet.request(journal.phase);
    if (refused === undefined) return;
    this.#save(refused, before);
  }

  #put(file: File, { theirs, content }: Journal): void {
    const next = "absent" in file ? undefined : { ...file, bytes: file.bytes.toString() };
    const isTheirs = "bytes" in theirs && "bytes" in file && theirs.bytes.equals(file.bytes);
    const isReadable = ![...auths(next).values()].some(isBad) && partsOf(next) !== undefined;
    law(
      next === undefined || isTheirs || isReadable,
      "bytes are written that kubelets cannot read",
    );
    const hasOurs = content.entries.some(({ place }) => place === "file" || place === "both");
    law(!hasOurs || next === undefined || (next.mode & 0o077) === 0, "others can read our entries");
    if (this.seen.secret === this.secret)
      for (const word of this.gone.keys())
        law(!contains(next?.bytes ?? "", word), `a removed value is written again: ${word}`);
    this.config = next;
  }

  /** All text in our folder. */
  get folderText(): string {
    const { journal, staged, unreadable = [] } = this.folder ?? {};
    const texts = [journal, staged?.journal].map((kept) => {
      const bytes = kept && "bytes" in kept.theirs ? kept.theirs.bytes.toString() : "";
      return JSON.stringify({ ...kept, theirs: undefined }) + bytes;
    });
    return [...texts, ...unreadable].join("\n");
  }

  /** The words in the provider's answer. */
  get answered(): Entries {
    const entries = [...entriesOf(Buffer.from(this.answer ?? ""))];
    return new Map(
      entries.map(([key, entry]) => {
        const { auth } = entry as { auth: string };
        return [key, Buffer.from(auth, "base64").toString().slice(2)];
      }),
    );
  }
}

const noProvider = { rows: [], asked: false };

const files = new WeakMap<object, File>();

/** The same object for the same file, as the agent's cache gives it. */
function fileOf(file: NodeFile): File {
  if (file === undefined) return { absent: true };
  const cached = files.get(file) ?? { bytes: Buffer.from(file.bytes), mode: file.mode };
  files.set(file, cached);
  return cached;
}

const contents = new WeakMap<Secret, Contents>();

function contentsOf(secret: Secret): Contents {
  const cached = contents.get(secret);
  if (cached !== undefined) return cached;
  const { newest, served, former } = secret;
  const made: Contents = {
    kind: "contents",
    newest: publishedOf(newest),
    served: served && publishedOf(served),
    isOurMode: true,
    former: readFormer(former),
  };
  contents.set(secret, made);
  return made;
}

function publishedOf({ revision, entries, original, isRelease }: Content): Published {
  return {
    revision,
    digest: `digest ${revision}`,
    isRelease,
    rest: [],
    entries: [...entries].map(([key, word]) => ({
      key,
      raw: JSON.stringify({ auth: authOf(word) }),
      original: original.has(key),
      place: "file",
    })),
  };
}

/** The key `former` after values have left, as the controller writes it. */
export function formerAfter(text: string, left: Entries, present: Entries): string {
  const values = (entries: Entries) =>
    [...entries].map(([key, word]) => ({ key, entry: JSON.stringify({ auth: authOf(word) }) }));
  return nextFormer(text, { left: values(left), present: values(present), salt: "salt" });
}

/**
 * Finds the agent's next step: reads the node's files, calls `decide`, collects the facts that the
 * decision requests, and calls `decide` again. An idle agent asks neither systemd nor healthz.
 */
import { join } from "node:path";
import { nodeFiles, type ProviderScope } from "#contract/names.ts";
import { type History, Stopwatch } from "./observe/stopwatch.ts";
import { type Config, modeOf } from "./facts/config.ts";
import { decide } from "./decide/decide.ts";
import { policyFor } from "./systemd/distributions.ts";
import type { Facts, Healthz, Observed } from "./facts/facts.ts";
import { Readings } from "./observe/readings.ts";
import { hasLeftovers } from "./journal/folder.ts";
import { readTheirs } from "./journal/store.ts";
import { type BootTime, digestOf, type Journal, type JournalReading } from "./journal/journal.ts";
import type { NodeFile } from "./delivery/config-json/config-json.ts";
import type { Seen } from "./api/api.ts";
import { orderFor } from "./facts/order.ts";
import { askUnit, unitOfChange } from "./observe/kubelet.ts";
import { unitOf } from "./facts/kubelet-state.ts";
import { journalOf, type Step } from "./facts/step.ts";
import type { Unit } from "./systemd/unit.ts";
import type { Systemd } from "./systemd/systemd.ts";
import { auto } from "#contract/values.ts";

export type Inputs = Readonly<{
  config: Config;
  /** Why the mounted directory does not belong to this kubelet; undefined if it does. */
  elsewhere: string | undefined;
  systemd: Systemd;
  healthz: () => Promise<Healthz>;
  /** When the node's Lease was last renewed, in milliseconds since 1970. */
  leaseRenewed: () => Promise<number | undefined>;
  acquire: () => Promise<boolean>;
  /** What the API server has sent. */
  seen: () => Seen;
  /** Wall clock, milliseconds. */
  now: () => number;
  /** Milliseconds that never jump. */
  clock: () => number;
  /** The time that the kubelet and systemd use, too. */
  bootTime: () => BootTime;
  history: History;
}>;

/** How old a Lease may be. The kubelet renews it every ten seconds. */
const leaseLasts = 40_000;

export class Observer {
  readonly #inputs: Inputs;
  readonly #scope: ProviderScope | undefined;
  readonly #stopwatch: Stopwatch;
  readonly #readings: Readings;
  /** The journal as last read. Kept in memory, because an administrator might delete our folder. */
  #journal: Extract<JournalReading, { kind: "journal" }> | undefined;
  /** The journal could not be saved. */
  #isUnsaved = false;
  #observed: Observed = { order: "unknown", journal: undefined, release: undefined };

  constructor(inputs: Inputs) {
    this.#inputs = inputs;
    const { delivery, scope } = inputs.config;
    this.#scope = delivery === "CredentialProvider" ? scope : undefined;
    this.#stopwatch = new Stopwatch(inputs.clock);
    this.#readings = new Readings({ ...inputs, scope: this.#scope });
  }

  /** The observations of the last round. */
  get observed(): Observed {
    return this.#observed;
  }

  /** A journal that could not be saved counts from now on, until it is saved. */
  keepUnsaved(journal: Journal): void {
    this.#journal = { kind: "journal", journal };
    this.#isUnsaved = true;
  }

  /** The step was executed. Its journal is on the disk, unless a restart could not save it. */
  acted(step: Step): void {
    const journal = journalOf(step);
    if (journal === undefined) return;
    this.#isUnsaved &&= step.action === "restart" && this.#journal?.journal === journal;
    this.#journal = { kind: "journal", journal };
  }

  /** The unit of this node's kubelet; undefined if it is not known. */
  async kubelet(): Promise<Unit | undefined> {
    const { config, systemd } = this.#inputs;
    const unit = await askUnit({ systemd, config }, { kind: "none" });
    return "active" in unit ? unit : undefined;
  }

  /** The next step. Throws the error of the file system, unless a decision can handle it. */
  async next(): Promise<Step> {
    const facts = await this.#observe();
    let answer = decide(facts);
    if (answer.action === "ask") answer = decide(await this.#askKubelet(facts));
    if (answer.action === "ask") throw new Error("the kubelet was asked already");
    return this.#remember(facts, answer);
  }

  async #observe(): Promise<Facts> {
    const { config, elsewhere, history, acquire, seen, bootTime } = this.#inputs;
    const alone = await acquire();
    const read: JournalReading = alone ? await this.#readings.journal() : { kind: "none" };
    // Another agent might have changed the node since this process read the journal.
    if (!alone || read.kind === "other version") this.#journal = undefined;
    const isMissing = read.kind === "none" || (read.kind === "journal" && this.#isUnsaved);
    const journal = isMissing ? (this.#journal ?? read) : read;
    if (journal.kind === "journal") this.#journal = journal;
    const recorded = journal.kind === "journal" ? journal.journal : undefined;
    const file: NodeFile = alone ? await this.#readings.file() : { kind: "changing" };
    const folder = join(config.kubeletDirectory, nodeFiles.folder);
    const unit = unitOfChange(journal) ?? (config.unit === auto ? undefined : config.unit);
    return {
      config: this.#configFor(unit),
      order: orderFor(seen().own, recorded),
      time: bootTime(),
      alone,
      elsewhere,
      contents: await this.#readings.contents(seen().secret, modeOf(config)),
      journal,
      vanished: journal !== read,
      leftovers: journal.kind === "none" && hasLeftovers(folder),
      theirs: alone && journal.kind === "none" ? readTheirs(folder) : undefined,
      file,
      unchangedFor: this.#stopwatch.unchangedFor(identityOf(file)),
      installed: await this.#readings.installed(),
      runtime: this.#readings.runtime(recorded?.hosts ?? ""),
      kubelet: undefined,
      writeIn: history.writeIn(),
      blocked: history.blocked(),
    };
  }

  /** `restart`: the policy for this unit. Only config.json can need a restart. */
  #configFor(unit: string | undefined): Facts["config"] {
    const { config } = this.#inputs;
    const restart = config.delivery === "ConfigFile" ? policyFor(config, unit) : "Never";
    return { ...config, restart, scope: this.#scope, isRuntime: config.delivery === "Runtime" };
  }

  async #askKubelet(facts: Facts): Promise<Facts> {
    const { systemd, config, healthz, leaseRenewed, bootTime } = this.#inputs;
    const unit = await askUnit(
      { systemd, config: { unit: config.unit, restart: facts.config.restart } },
      facts.journal,
    );
    const asked = { unit, healthz: await healthz(), isLeased: false };
    const whole = unitOf({ kubelet: asked });
    const isAnswer = asked.healthz === "answers" || asked.healthz === "silent";
    const renewed = isAnswer ? undefined : await leaseRenewed();
    const age = this.#inputs.now() - (renewed ?? 0);
    const isLeased = age < leaseLasts && bootTime().monotonic - age > (whole?.started ?? 0);
    return {
      ...facts,
      config: whole === undefined ? facts.config : this.#configFor(whole.name),
      kubelet: { ...asked, isLeased },
    };
  }

  /**
   * Keeps the content of files only while nothing is changed, because a change needs the memory.
   */
  #remember(facts: Facts, step: Step): Step {
    const { order, journal, contents } = facts;
    const release =
      contents.kind === "contents" && contents.newest.isRelease ? contents.newest : undefined;
    this.#observed = {
      order,
      journal: journal.kind === "journal" ? journal.journal : undefined,
      // The content itself is not kept, because it can use 20 MiB of memory.
      release: release && { revision: release.revision, digest: release.digest },
    };
    if (step.action === "leave") this.#journal = undefined;
    if (step.action !== "nothing" && step.action !== "wait") this.#readings.forget();
    return step;
  }
}

/** Distinguishes bytes of config.json; undefined if there are none. */
function identityOf(file: NodeFile): string | undefined {
  if (file.kind !== "file") return undefined;
  return "absent" in file.file ? "absent" : digestOf(file.file.bytes);
}

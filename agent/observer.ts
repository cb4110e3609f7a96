/**
 * Finds the agent's next step: reads the node's files, asks `decide`, finds out what the decision
 * asks for, and asks again. At rest it asks healthz alone, and nothing over D-Bus.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import { bootTime } from "./files/boot.ts";
import type { Config } from "./config/config.ts";
import { decide } from "./decide/decide.ts";
import { isFound } from "./decide/unreadable-file.ts";
import { owing } from "./facts/bound-unit.ts";
import { policyFor } from "./systemd/distributions.ts";
import { type Facts, unasked } from "./facts/facts.ts";
import { isElsewhere } from "./observe/own-pod.ts";
import { askHides } from "./observe/fitness.ts";
import { isLeft } from "./journal/folder.ts";
import { joined } from "./journal/former.ts";
import { keepFormer, type Past, readFormer } from "./journal/former-file.ts";
import { isIdle, type JournalReading, type Owned } from "./journal/journal.ts";
import { failedKey, isOf, type Seen } from "./facts/grant.ts";
import { askUnit } from "./observe/kubelet-unit.ts";
import type { Delivery, NodeFile } from "./delivery/delivery.ts";
import { Readings } from "./observe/readings.ts";
import { isRunning, progress, unitOf } from "./facts/kubelet-state.ts";
import { type Deeds, Stopwatch } from "./observe/stopwatch.ts";
import type { Asked, Step } from "./facts/step.ts";
import { corruptName } from "./journal/store.ts";
import type { Systemd } from "./systemd/systemd.ts";

export type Senses = Readonly<{
  config: Config;
  systemd: Systemd;
  healthz: () => Promise<boolean>;
  acquire: () => Promise<boolean>;
  /** What this pod has said of its grants. */
  marks: () => Pick<Facts, "refused" | "proved">;
  /** Wall clock, milliseconds. */
  now: () => number;
  /** Milliseconds that never jump. */
  clock: () => number;
  deeds: Deeds;
  delivery: Delivery;
}>;

export class Observer {
  readonly #senses: Senses;
  readonly #stopwatch: Stopwatch;
  readonly #readings: Readings;
  /** Kept, because people delete a folder that they do not know. */
  #journal: Extract<JournalReading, { kind: "journal" }> | undefined;
  #past: Past;
  #seen: Seen = { grant: "unread", journal: 0, fulfilled: false, failed: undefined };

  constructor(senses: Senses) {
    this.#senses = senses;
    this.#stopwatch = new Stopwatch(senses.clock);
    this.#readings = new Readings(senses);
    this.#past = readFormer(senses.config.podDirectory);
  }

  /** What the last look has seen. */
  get seen(): Seen {
    return this.#seen;
  }

  /**
   * Whether a file is not as the last look found it. It costs a few lstat calls, so that it can be
   * asked at each probe: a node may have no inotify watch left to give.
   */
  isOutdated(): boolean {
    return this.#readings.isOutdated();
  }

  /** The next step. Throws what the file system threw, unless a decision can handle it. */
  async next(): Promise<Step> {
    for (let facts = await this.#look(); ;) {
      const answer = decide(facts);
      if (answer.action === "ask") facts = await this.#ask(answer.for, facts);
      else return this.#remember(facts, answer);
    }
  }

  async #look(): Promise<Facts> {
    const { config, now, deeds, acquire } = this.#senses;
    this.#stopwatch.next();
    const grant = await this.#readings.grant();
    const alone = await acquire();
    const read: JournalReading = alone ? await this.#readings.journal() : { kind: "none" };
    // What another agent has done since, nobody remembers.
    if (!alone || read.kind === "newer") this.#journal = undefined;
    const journal = read.kind === "none" ? (this.#journal ?? read) : read;
    const vanished = journal !== read;
    if (journal.kind === "journal") this.#journal = journal;
    const found: NodeFile = alone ? await this.#readings.file() : { kind: "changing" };
    const barred = isFound(found) ? deeds.barred() : undefined;
    const file: NodeFile = barred === undefined ? found : { kind: "refused", why: barred };
    const folder = join(config.kubeletDirectory, nodeFiles.folder);
    const quarantine = journal.kind === "journal" ? journal.journal.quarantine : undefined;
    const held = (name: string, value: string | undefined) => this.#stopwatch.held(name, value);
    return {
      config: { ...config, restart: policyFor(config, owing(config.unit, journal)) },
      grant,
      ...this.#senses.marks(),
      now: now(),
      time: bootTime(),
      alone,
      elsewhere: isElsewhere(config),
      journal,
      vanished,
      former: this.#isCopy(file) ? this.#past.former : [],
      lost: existsSync(join(folder, corruptName)),
      left: journal.kind === "none" && isLeft(folder),
      file,
      ...unasked,
      stopwatch: {
        ...unasked.stopwatch,
        file: held("file", file.kind === "file" ? file.digest : file.kind),
        quarantine: held(
          "quarantine",
          quarantine && `${quarantine.revision} ${quarantine.failures}`,
        ),
      },
      writeIn: deeds.writeIn(),
      restarts: deeds.restarts,
      sinceRestart: deeds.sinceRestart(),
      sinceCleaned: deeds.sinceCleaned(),
      unwritable: deeds.unwritable,
    };
  }

  async #ask(asked: Asked, facts: Facts): Promise<Facts> {
    const { config, systemd } = this.#senses;
    if (asked === "mounted") return { ...facts, ...(await this.#readings.volume()) };
    if (asked === "healthz") return { ...facts, healthy: await this.#isHealthy(facts.config) };
    const known = await this.#askKubelet(facts);
    if (asked === "kubelet") return known;
    const hides = await askHides(config, systemd, unitOf(known));
    return { ...known, hides };
  }

  async #askKubelet(facts: Facts): Promise<Facts> {
    const { config } = this.#senses;
    const unit = await askUnit(this.#senses, facts.journal);
    const whole = unitOf({ unit });
    const restart = policyFor(config, whole?.name ?? owing(config.unit, facts.journal));
    const healthy = await this.#isHealthy({ restart });
    const running = whole !== undefined && isRunning(whole) ? whole.invocation : undefined;
    const stopwatch = {
      ...facts.stopwatch,
      running: this.#stopwatch.held("running", running),
      healthy: this.#stopwatch.held("healthy", healthy ? running : undefined),
      silent: this.#stopwatch.held("silent", healthy ? undefined : "silent"),
      busy: this.#stopwatch.held("busy", progress(unit)),
    };
    return { ...facts, config: { ...facts.config, restart }, unit, healthy, stopwatch };
  }

  /** Where nothing is restarted healthz decides nothing, and may be off. */
  async #isHealthy({ restart }: Pick<Config, "restart">): Promise<boolean> {
    return restart === "Never" || (await this.#senses.healthz());
  }

  /** Keeps what was read only while there is nothing to do: a change needs the memory. */
  #remember(facts: Facts, step: Step): Step {
    const { grant, journal } = facts;
    const known = journal.kind === "journal" ? journal.journal : undefined;
    this.#seen = {
      grant,
      journal: known?.revision ?? 0,
      fulfilled: known !== undefined && isIdle(known) && isOf(known, grant),
      failed: failedKey(known),
    };
    if (step.action === "leave") {
      // Before the folder goes, with the only other record of it.
      this.#keepPast(facts);
      this.#journal = undefined;
    } else if (known !== undefined) this.#noteCopy(facts.file, known.owned);
    if (step.action !== "nothing") this.#readings.forget();
    return step;
  }

  #isCopy(file: NodeFile): boolean {
    return file.kind === "file" && this.#past.copies.includes(file.digest);
  }

  /** Notes the file that has all of ours: a copy of it may come back after a withdrawal. */
  #noteCopy(file: NodeFile, owned: Owned): void {
    const isWhole = owned.entries.some(({ vacant }) => !vacant);
    if (file.kind !== "file" || !isWhole || this.#isCopy(file) || !file.holds(owned)) return;
    const copies = [...this.#past.copies, file.digest];
    this.#past = keepFormer(this.#senses.config.podDirectory, { ...this.#past, copies });
  }

  /** What the withdrawal has restored is the node's own, also where ours was the same once. */
  #keepPast({ file }: Facts): void {
    const { owned } = this.#journal?.journal ?? {};
    if (owned === undefined || !isFound(file)) return;
    const former = file.withdrawn({ ...owned, former: joined(this.#past.former, owned.former) });
    const copies = this.#past.copies.filter((one) => one !== file.digest);
    this.#past = keepFormer(this.#senses.config.podDirectory, { copies, former });
  }
}

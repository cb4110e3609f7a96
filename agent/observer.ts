/**
 * Finds the agent's next step: reads the node's files, calls `decide`, collects the facts that the
 * decision requests, and calls `decide` again. An idle agent asks only healthz.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import { bootTime, type History, Stopwatch } from "./observe/stopwatch.ts";
import { type Config, modeOf } from "./facts/config.ts";
import { decide } from "./decide/decide.ts";
import { isFound, type Delivery, type NodeFile } from "./delivery/delivery.ts";
import { namedUnit, isRunning, progress, unitOf } from "./facts/kubelet-state.ts";
import { policyFor } from "./systemd/distributions.ts";
import { type Facts, type Observed, unasked } from "./facts/facts.ts";
import { whyElsewhere, Readings } from "./observe/readings.ts";
import { hasLeftovers } from "./journal/folder.ts";
import { type JournalReading, ownsNoAnswer } from "./journal/journal.ts";
import { corruptName } from "./journal/store.ts";
import type { Seen } from "./api/api.ts";
import { activeOrder, orderFor } from "./facts/order.ts";
import { askUnit } from "./observe/kubelet.ts";
import type { Question, Step } from "./facts/step.ts";
import type { Contents } from "./delivery/contents.ts";
import type { Systemd } from "./systemd/systemd.ts";

export type Inputs = Readonly<{
  config: Config;
  systemd: Systemd;
  healthz: () => Promise<boolean>;
  acquire: () => Promise<boolean>;
  /** What the API server has sent. */
  seen: () => Seen;
  /** Wall clock, milliseconds. */
  now: () => number;
  /** Milliseconds that never jump. */
  clock: () => number;
  history: History;
  delivery: Delivery;
}>;

export class Observer {
  readonly #inputs: Inputs;
  readonly #stopwatch: Stopwatch;
  readonly #readings: Readings;
  /** The journal as last read. Kept in memory, because an administrator might delete our folder. */
  #journal: Extract<JournalReading, { kind: "journal" }> | undefined;
  #observed: Observed = { order: "unknown", journal: undefined, release: undefined };

  constructor(inputs: Inputs) {
    this.#inputs = inputs;
    this.#stopwatch = new Stopwatch(inputs.clock);
    this.#readings = new Readings(inputs);
  }

  /** The observations of the last round. */
  get observed(): Observed {
    return this.#observed;
  }

  /** The next step. Throws the error of the file system, unless a decision can handle it. */
  async next(): Promise<Step> {
    for (let facts = await this.#observe(); ;) {
      const answer = decide(facts);
      if (answer.action === "ask") facts = await this.#ask(answer.for, facts);
      else return this.#remember(facts, answer);
    }
  }

  async #observe(): Promise<Facts> {
    const { config, now, history, acquire, seen } = this.#inputs;
    this.#stopwatch.next();
    const alone = await acquire();
    const read: JournalReading = alone ? await this.#readings.journal() : { kind: "none" };
    // Another agent might have changed the node since this process read the journal.
    if (!alone || read.kind === "newer") this.#journal = undefined;
    const journal = read.kind === "none" ? (this.#journal ?? read) : read;
    const vanished = journal !== read;
    if (journal.kind === "journal") this.#journal = journal;
    const configFile: NodeFile = alone ? await this.#readings.file() : { kind: "changing" };
    const blocked = isFound(configFile) ? history.blocked() : undefined;
    const file: NodeFile =
      blocked === undefined
        ? configFile
        : {
            kind: "refused",
            why: blocked,
            ...(configFile.answer && { answer: configFile.answer }),
          };
    const folder = join(config.kubeletDirectory, nodeFiles.folder);
    const recordedJournal = journal.kind === "journal" ? journal.journal : undefined;
    const lost = existsSync(join(folder, corruptName));
    const quarantine = recordedJournal?.quarantine;
    const held = (name: string, value: string | undefined) =>
      this.#stopwatch.unchangedFor(name, value);
    return {
      config: { ...config, restart: policyFor(config, namedUnit(config.unit, journal)) },
      order: orderFor(seen().own, recordedJournal),
      now: now(),
      time: bootTime(),
      alone,
      elsewhere: whyElsewhere(config),
      journal,
      vanished,
      lost,
      noAnswer: recordedJournal === undefined ? !lost : ownsNoAnswer(recordedJournal, lost),
      leftovers: journal.kind === "none" && hasLeftovers(folder),
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
      writeIn: history.writeIn(),
      restarts: history.restarts,
      sinceRestart: history.sinceRestart(),
      unwritable: history.unwritable,
    };
  }

  async #ask(asked: Question, facts: Facts): Promise<Facts> {
    if (asked === "mounted") return { ...facts, ...(await this.#contents(facts)) };
    if (asked === "healthz") return { ...facts, healthy: await this.#isHealthy(facts.config) };
    return this.#askKubelet(facts);
  }

  #contents({ journal, order }: Facts): Promise<Contents> {
    const { config, seen } = this.#inputs;
    const { revision = 0, digest } = journal.kind === "journal" ? journal.journal : {};
    const kept = revision > 0 ? { revision, digest } : undefined;
    const choice = { order: activeOrder(order), kept, mode: modeOf(config) };
    return this.#readings.contents(seen().secret, choice);
  }

  async #askKubelet(facts: Facts): Promise<Facts> {
    const { config } = this.#inputs;
    const unit = await askUnit(this.#inputs, facts.journal);
    const whole = unitOf({ unit });
    const restart = policyFor(config, whole?.name ?? namedUnit(config.unit, facts.journal));
    const healthy = await this.#isHealthy({ restart });
    const running = whole !== undefined && isRunning(whole) ? whole.invocation : undefined;
    const stopwatch = {
      ...facts.stopwatch,
      running: this.#stopwatch.unchangedFor("running", running),
      healthy: this.#stopwatch.unchangedFor("healthy", healthy ? running : undefined),
      silent: this.#stopwatch.unchangedFor("silent", healthy ? undefined : "silent"),
      busy: this.#stopwatch.unchangedFor("busy", progress(unit)),
    };
    return { ...facts, config: { ...facts.config, restart }, unit, healthy, stopwatch };
  }

  /** If restarts are off, the agent does not need healthz, and healthz might be off. */
  async #isHealthy({ restart }: Pick<Config, "restart">): Promise<boolean> {
    return restart === "Never" || (await this.#inputs.healthz());
  }

  /**
   * Keeps the content of files only while there is nothing to do, because a change needs the
   * memory.
   */
  #remember(facts: Facts, step: Step): Step {
    const { order, journal, mounted } = facts;
    const isRelease = mounted?.kind === "document" && mounted.intent === "release";
    this.#observed = {
      order,
      journal: journal.kind === "journal" ? journal.journal : undefined,
      // The document itself is not kept, because it can use 20 MiB of memory.
      release: isRelease ? { revision: mounted.revision, digest: mounted.digest } : undefined,
    };
    if (step.action === "leave") this.#journal = undefined;
    if (step.action !== "nothing") this.#readings.forget();
    return step;
  }
}

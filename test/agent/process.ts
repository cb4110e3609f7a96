/**
 * A process of the agent: its real observe, decide, execute and reports, connected as main.ts
 * connects them. The node is its clock, its systemd, its healthz and its API server.
 */
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import type { Seen } from "#agent/api/api.ts";
import { clearStaging } from "#agent/delivery/runtime/directory.ts";
import { act, type Effects } from "#agent/execute.ts";
import { type Config, modeOf, parseConfig } from "#agent/facts/config.ts";
import type { Healthz } from "#agent/facts/facts.ts";
import type { Step } from "#agent/facts/step.ts";
import { isRight } from "#agent/decide/file.ts";
import { overlay } from "#agent/delivery/config-json/overlay.ts";
import type { BootTime, File, Journal } from "#agent/journal/journal.ts";
import { settleStore } from "#agent/journal/store.ts";
import type { NewReport } from "#agent/api/objects.ts";
import { Observer } from "#agent/observer.ts";
import { History } from "#agent/observe/stopwatch.ts";
import { Reports } from "#agent/report/reports.ts";
import { NoAnswer, SystemdError } from "#agent/systemd/connection.ts";
import type { Systemd } from "#agent/systemd/systemd.ts";
import type { Unit } from "#agent/systemd/unit.ts";
import type { NodeFile } from "./file.ts";
import type { Kubelet } from "./kubelet.ts";

export const modes = ["Restart", "Reread", "CredentialProvider", "Runtime"] as const;
export type Mode = (typeof modes)[number];

/** The node as its agent sees it. */
type Host = Readonly<{
  mode: Mode;
  directory: string;
  /** The agent's flags in every mode. */
  flags: readonly string[];
  kubelet: Kubelet;
  isWithoutSystemd: boolean;
  received: Seen;
  time: BootTime;
  healthz: Healthz;
  unit: Unit;
  /** The wall clock at this time of the kubelet's clock. */
  wall: (at: number) => number;
  /** Whether systemd restarts the kubelet. */
  restart: () => boolean;
}>;

const flags: Readonly<Record<Mode, readonly string[]>> = {
  Restart: [],
  Reread: ["--restart=Never"],
  CredentialProvider: ["--delivery=CredentialProvider"],
  Runtime: ["--delivery=Runtime", "--restart=Never"],
};

const environment = {
  NODE_NAME: "node1",
  KUBERNETES_SERVICE_HOST: "::1",
  KUBERNETES_SERVICE_PORT: "1",
};

function configFor({ mode, directory, flags: common }: Host): Config {
  const argv = [`--kubelet-directory=${directory}`, ...common, ...flags[mode]];
  const parsed = parseConfig(argv, environment);
  if (!parsed.ok) throw new Error(parsed.errors.join("\n"));
  return parsed.value;
}

export class Process {
  /** What the agent last reported. */
  report: NewReport | undefined;
  readonly #config: Config;
  readonly #effects: Effects;
  readonly #observer: Observer;
  readonly #reports: Reports;
  /** Whether a commit of this or of a killed process might be incomplete. */
  #isUnsettled = true;

  constructor(node: Host) {
    const { kubelet } = node;
    const config = configFor(node);
    this.#config = config;
    const clock = () => kubelet.now;
    const history = new History(clock);
    const systemd = systemdOf(node);
    const seen = () => node.received;
    const leaseRenewed = async () => node.wall(kubelet.leaseRenewed);
    const lock = { release: () => {} };
    const observer = new Observer({
      config,
      elsewhere: undefined,
      systemd,
      healthz: async () => node.healthz,
      leaseRenewed,
      acquire: () => this.#acquire(),
      seen,
      now: () => node.wall(kubelet.now),
      clock,
      bootTime: () => node.time,
      history,
    });
    const unsaved: Effects["unsaved"] = (journal) => observer.keepUnsaved(journal);
    this.#effects = { config, systemd, history, lock, unsaved };
    this.#observer = observer;
    this.#reports = new Reports({
      api: { seen, leaseRenewed, report: (report) => (this.report = report) },
      mode: modeOf(config),
      version: "1",
      kubeletStarted: async () => (await observer.kubelet()) && node.wall(kubelet.since),
      clock,
    });
  }

  async #acquire(): Promise<true> {
    const { kubeletDirectory, containerdPath, hostsDirectory } = this.#config;
    const [target, folder] = [nodeFiles.config, nodeFiles.folder] as const;
    if (this.#isUnsettled)
      await settleStore(join(kubeletDirectory, target), join(kubeletDirectory, folder));
    if (this.#isUnsettled && containerdPath !== undefined) clearStaging(hostsDirectory);
    this.#isUnsettled = false;
    return true;
  }

  /** The journal of the last round. */
  get journal(): Journal | undefined {
    return this.#observer.observed.journal;
  }

  /** Whether the journal describes this config.json. If not, the agent records it later. */
  describes(config: NodeFile): boolean {
    const { journal } = this;
    if (journal === undefined) return true;
    const { theirs, content } = journal;
    const file: File =
      config === undefined
        ? { absent: true }
        : { bytes: Buffer.from(config.bytes), mode: config.mode };
    return isRight(file, overlay(theirs, content), content);
  }

  async next(): Promise<Step> {
    return await this.#reports.give(await this.#observer.next(), this.#observer.observed);
  }

  async act(step: Step): Promise<void> {
    this.#isUnsettled ||= step.action === "commit";
    await act(step, this.#effects);
    this.#observer.acted(step);
    this.#isUnsettled = false;
  }
}

function systemdOf(node: Host): Systemd {
  const unit = (): Unit => {
    if (node.isWithoutSystemd) throw new NoAnswer("connect ECONNREFUSED");
    return node.unit;
  };
  return {
    unit: async () => unit(),
    states: async () => [unit()],
    resetFailed: async () => void (node.kubelet.isLimited = false),
    restart: async (_unit, recorded) => {
      await recorded();
      if (node.isWithoutSystemd) return { refused: new NoAnswer("connect ECONNREFUSED") };
      if (node.restart()) return { result: "done" };
      return { refused: new SystemdError("org.freedesktop.DBus.Error.AccessDenied", "refused") };
    },
    disconnect: () => {},
  };
}

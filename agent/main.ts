/** Connects the parts of the agent. Its decisions are in decide/decide.ts. */
import { dirname, join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { asksForHelp } from "#contract/arguments.ts";
import { exitCodes, nodeFiles } from "#contract/names.ts";
import { act, counted } from "./execute.ts";
import { type Config, modeOf, parseConfig, usage } from "./facts/config.ts";
import { keepMemoryOutOfCores } from "#runtime/cores.ts";
import { providerNames } from "./delivery/provider/provider.ts";
import { clearStaging } from "./delivery/runtime/directory.ts";
import { describe } from "./files/errno.ts";
import { askHealthz } from "./observe/kubelet.ts";
import { whyElsewhere } from "./observe/identity.ts";
import { openLog, Status, failureStep } from "./report/status.ts";
import { Observer } from "./observer.ts";
import { Lock } from "./report/lock.ts";
import { Loop } from "./loop.ts";
import { openApi } from "./api/api.ts";
import { Reports } from "./report/reports.ts";
import { codes, formatLine, fast, type Step } from "./facts/step.ts";
import { bootTime, History } from "./observe/stopwatch.ts";
import { settleStore } from "./journal/store.ts";
import type { Journal } from "./journal/journal.ts";
import { systemdOver } from "./systemd/systemd.ts";
import { watchDirectories } from "./files/watch.ts";

const stopping = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => stopping.abort());

/** Milliseconds that never jump. */
const clock = () => performance.now();

async function main(argv: readonly string[]): Promise<number> {
  keepMemoryOutOfCores();
  if (asksForHelp(argv)) return print(process.stdout, usage(), exitCodes.done);
  const parsed = parseConfig(argv, process.env);
  if (!parsed.ok) return print(process.stderr, `${parsed.errors.join("\n")}\n`, exitCodes.misused);
  return await serve(parsed.value);
}

function print(stream: NodeJS.WriteStream, text: string, code: number): number {
  stream.write(text);
  return code;
}

async function serve(config: Config): Promise<number> {
  const history = new History(clock);
  const systemd = systemdOver(config.systemdDirectory, stopping.signal);
  const log = openLog(config.node);
  const status = new Status(log, clock);
  const loop = new Loop(stopping.signal, clock);
  const api = openApi({
    host: config.apiHost,
    port: config.apiPort,
    credentials: config.credentialsDirectory,
    node: config.node,
    signal: stopping.signal,
    changed: () => loop.hint(),
    trouble: ({ kind, detail }) => log({ code: codes[kind] }, formatLine(codes[kind], detail)),
  });
  const reports = new Reports({
    api,
    mode: modeOf(config),
    version: manifest.version,
    kubeletStarted: async () => {
      const { started } = (await observer.kubelet()) ?? {};
      return started && Date.now() - (bootTime().monotonic - started);
    },
    clock,
  });
  const folder = join(config.kubeletDirectory, nodeFiles.folder);
  const files = [nodeFiles.config, ...providerNames].map((name) =>
    join(config.kubeletDirectory, name),
  );
  // Watch only these names. Without this filter, chokidar would watch each `..timestamp` folder of
  // a mount, and 10,000 quick changes would fill the heap.
  const targets = new Set([...files, join(config.secretDirectory, "..data")]);
  let watching: Promise<void> | undefined;
  const watch = () =>
    watchDirectories(
      [
        ...(api.seen().secret === "unknown" ? [config.secretDirectory] : []),
        ...new Set(files.map(dirname)),
        ...(config.containerdPath === undefined ? [] : [config.hostsDirectory]),
      ],
      (path) => targets.has(path) || path.startsWith(`${config.hostsDirectory}/`),
      () => loop.hint(),
      (why) => log({ code: codes.unwatched }, formatLine(codes.unwatched, why)),
    ).catch((error: unknown) =>
      log({ code: codes.unwatched }, formatLine(codes.unwatched, describe(error))),
    );

  const lock = new Lock(folder);
  /** Whether a commit of this or of a killed process might be incomplete. */
  let isUnsettled = true;
  const acquire = async () => {
    const alone = await lock.acquire();
    // Only under the lock, because another agent might be about to rename its staged file.
    if (lock.held && isUnsettled) {
      await settleStore(join(config.kubeletDirectory, nodeFiles.config), folder);
      if (config.containerdPath !== undefined) clearStaging(config.hostsDirectory);
    }
    isUnsettled &&= !lock.held;
    return alone;
  };
  const healthz = () => askHealthz(config.healthzPort, config.healthzAddress);
  const observer = new Observer({
    config,
    elsewhere: whyElsewhere(config),
    systemd,
    healthz,
    acquire,
    seen: api.seen,
    now: Date.now,
    clock,
    bootTime,
    history,
    leaseRenewed: api.leaseRenewed,
  });
  const revision = () => observer.observed.journal?.content.revision ?? 0;
  await loop.run({
    next: async () => {
      const step = await reports.give(await observer.next(), observer.observed);
      // Loading the watcher takes 30 ms of CPU, so we load it in the first pause. Until then, no
      // hints are needed.
      if (step.again === "back off" || step.again > fast) watching ??= watch();
      return step;
    },
    report: (step) => status.report(step, revision()),
    act: async (step) => {
      // The first change on this node. This round ran without the lock, so it must be repeated.
      if (changesNode(step) && !lock.held)
        return void (await counted(history, () => lock.acquire(true)));
      isUnsettled ||= step.action === "commit";
      const unsaved = (journal: Journal) => observer.keepUnsaved(journal);
      const outcome = await act(step, { config, systemd, history, lock, unsaved });
      observer.acted(step);
      isUnsettled = false;
      status.done(step, outcome, revision());
    },
    failed: failureStep,
    idle: systemd.disconnect,
  });
  lock.release();
  log({ code: codes.stopped }, formatLine(codes.stopped));
  return exitCodes.done;
}

/** Whether the step changes the node. Such a step requires the lock. */
function changesNode({ action }: Step): boolean {
  return action !== "wait" && action !== "nothing";
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${describe(error)}\n`);
    process.exit(exitCodes.gaveUp);
  },
);

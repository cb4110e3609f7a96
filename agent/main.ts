/** Connects the parts of the agent. Its decisions are in decide/decide.ts. */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { asksForHelp } from "#contract/arguments.ts";
import { exitCodes, nodeFiles } from "#contract/names.ts";
import { act } from "./execute.ts";
import { parseConfig, type Config, usage } from "./facts/config.ts";
import { keepMemoryOutOfCores } from "#runtime/cores.ts";
import { byProvider, configAfterProvider } from "./delivery/provider/provider.ts";
import type { Delivery } from "./delivery/delivery.ts";
import { describe } from "./files/errno.ts";
import { askHealthz } from "./observe/kubelet.ts";
import { openLog, Status, failureStep } from "./report/status.ts";
import { Observer } from "./observer.ts";
import { Lock } from "./report/lock.ts";
import { Loop } from "./loop.ts";
import { serveReadiness, ReadinessProof } from "./report/readiness.ts";
import { codes, formatLine, fast, type Step, wait } from "./facts/step.ts";
import { History } from "./observe/stopwatch.ts";
import { sweepStore } from "./journal/store.ts";
import { systemdOver } from "./systemd/systemd.ts";
import { watchDirectories } from "./files/watch.ts";
import { TerminationReport } from "./report/termination-report.ts";

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

function deliveryOf({ delivery, scope }: Config): Delivery {
  return delivery === "ConfigFile" ? configAfterProvider : byProvider(scope);
}

async function serve(config: Config): Promise<number> {
  const stopping = new AbortController();
  // As process 1, Node ignores signals that have no handler. The pod would end only after its grace
  // period.
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => stopping.abort());

  const delivery = deliveryOf(config);
  const history = new History(clock);
  const systemd = systemdOver(config.systemdDirectory, stopping.signal);
  const log = openLog(config.node);
  const status = new Status(log, (line) => writeFileSync(config.terminationLog, line), clock);
  const loop = new Loop(stopping.signal, clock);
  const proof = new ReadinessProof(Date.now);
  const probe = serveReadiness(
    config.probePort,
    config.template,
    () => {
      if (observer.isOutdated()) loop.hint();
      return status.readiness;
    },
    () => loop.hint(),
    () => {
      if (proof.sawUnready() && status.readiness.code === codes.unseen) loop.hint();
    },
  );
  const termination = new TerminationReport(config.podDirectory, clock);
  const folder = join(config.kubeletDirectory, nodeFiles.folder);
  const files = delivery.names.map((name) => join(config.kubeletDirectory, name));
  // Watch only these names. Without this filter, chokidar would watch each `..timestamp` folder of
  // a mount, and 10,000 quick changes would fill the heap.
  const targets = new Set([...files, join(config.secretDirectory, "..data")]);
  let watching: Promise<void> | undefined;
  const watch = () =>
    watchDirectories(
      [config.secretDirectory, ...new Set(files.map(dirname))],
      (path) => targets.has(path),
      () => loop.hint(),
      (why) => log({ code: codes.unwatched }, formatLine(codes.unwatched, why)),
    ).catch((error: unknown) =>
      log({ code: codes.unwatched }, formatLine(codes.unwatched, describe(error))),
    );

  const lock = new Lock(folder);
  let swept = false;
  const acquire = async () => {
    const alone = await lock.acquire();
    // Sweep only under the lock, because another agent might be about to rename its staged file.
    if (lock.held && !swept) sweepStore(folder);
    swept ||= lock.held;
    return alone;
  };
  const healthz = () => askHealthz(config.healthzPort, config.healthzAddress);
  const observer = new Observer({
    config,
    systemd,
    healthz,
    acquire,
    reported: () => ({ refused: termination.refused, proved: termination.proved }),
    now: Date.now,
    clock,
    history,
    delivery,
  });
  const code = await loop.run({
    next: async () => {
      const decision = await observer.next();
      const { observed: seen } = observer;
      const step = proof.orWait(termination.orEnd(decision, seen), seen.grant);
      // Loading the watcher takes 30 ms of CPU, so we load it in the first pause. Until then, no
      // hints are needed.
      if (step.again === "back off" || step.again > fast) watching ??= watch();
      return step;
    },
    report: (step) => {
      const taken = probe.taken();
      // The agent needs the port if it is Ready, or if it waits until the kubelet has seen it
      // NotReady. If another process has the port, the agent only reports that the port is taken.
      const asks = step.ready || step.code === codes.unseen;
      status.report(
        asks && taken !== undefined ? wait(codes.portTaken, step.again, taken) : step,
        observer.observed,
      );
    },
    act: async (step) => {
      if (step.action === "end") termination.mark(step.report, observer.observed);
      // The first change on this node. This round ran without the lock, so it must be repeated.
      if (changesNode(step) && !lock.held) return void (await lock.acquire(true));
      const outcome = await act(step, { config, systemd, history, delivery, lock });
      if (step.action === "give up") termination.mark("failed", observer.observed);
      status.done(step, outcome, observer.observed);
    },
    failed: failureStep,
    idle: systemd.disconnect,
  });
  lock.release();
  if (stopping.signal.aborted) log({ code: codes.stopped }, formatLine(codes.stopped));
  probe.close();
  return code;
}

/** Whether the step changes the node. Such a step requires the lock. */
function changesNode({ action }: Step): boolean {
  return action !== "wait" && action !== "nothing" && action !== "end";
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${describe(error)}\n`);
    process.exit(exitCodes.gaveUp);
  },
);

/** Runs a program that writes to its cluster: command line, Lease, port, shutdown. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { Logger } from "pino";
import { asksForHelp } from "#contract/arguments.ts";
import type { ParsedFlags } from "#contract/flags.ts";
import { namespace } from "#contract/names.ts";
import type { TableValues } from "#contract/table.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { leaseIn } from "#kube/client/paths.ts";
import { ServerClock } from "#kube/client/server-clock.ts";
import { hangsSeconds } from "./loop.ts";
import { fenced } from "./fenced-client.ts";
import { keepMemoryOutOfCores } from "./cores.ts";
import { openLog } from "./log.ts";
import { openMeters, type Meters } from "./metrics.ts";
import { serve, type Health } from "./server.ts";
import { joinElection } from "./election.ts";
import type { common } from "./flags.ts";

export type Around = Readonly<{
  /** The cluster in which the program runs. Writes to it are sent only while we hold the Lease. */
  home: Cluster;
  holds: () => boolean;
  log: Logger;
  meters: Meters;
  /** The time of `home`'s API server. */
  clock: ServerClock;
  /** Aborts when this process is about to end. */
  stop: AbortSignal;
  /** Ends this process soon, so that the next process starts without what this one has learned. */
  leave: () => void;
  /** Calls this observer from now on. */
  observe: (observer: Observer) => void;
}>;

type Observer = Readonly<{
  /** Called with each request to `home` and its outcome. */
  asked: (method: string, status: number) => void;
  /** Called when the holder of the Lease changes. True: this process. */
  leads: (is: boolean) => void;
}>;

/** The work of a program. */
export type ServedProgram = Readonly<{
  /**
   * What a process does before it takes part in the election. Rejects if it could not serve, so
   * that it is never ready, and another process is elected.
   */
  prepare?: () => Promise<void>;
  /** Serves until `signal` aborts. Never rejects. */
  until: (signal: AbortSignal) => Promise<void>;
  /** Seconds since the last run of the program's loop ended; 0 before the loop begins. */
  silence: () => number;
  /** Whether a run of the holder has succeeded. Default: the holder is always ready. */
  succeeded?: () => boolean;
}>;

export type Program<Config> = Readonly<{
  /** Field manager of the program's writes, and the name that the audit log shows. */
  manager: string;
  /** Name of its Lease. */
  lease: string;
  usage: () => string;
  parse: (argv: readonly string[]) => ParsedFlags<Config>;
  open: (config: Config, around: Around) => ServedProgram;
}>;

/** The flags that the frame itself uses. `namespace`: of the Lease. */
type Framed = Pick<TableValues<typeof common>, "kubeconfig" | "listen"> &
  Readonly<{ "log-level": string; namespace?: string }>;

/**
 * Runs the program until SIGTERM. Never rejects: the last line of the log, and the container's
 * termination message, report what stopped the program.
 */
export function runProgram<Config extends Framed>(program: Program<Config>): void {
  const argv = process.argv.slice(2);
  if (asksForHelp(argv)) return void process.stdout.write(program.usage());
  const parsed = program.parse(argv);
  if (!parsed.ok) return end(parsed.errors.join("\n"), 2);
  keepMemoryOutOfCores();
  const log = openLog(parsed.value["log-level"]);
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());
  const lost = () => end("another process holds the Lease now", 1);
  serveProgram(program, parsed.value, { log, stop, lost }).then(
    () => process.exit(0),
    (error: unknown) => end((error as Error).message, 1),
  );
}

/**
 * Outside a pod, the file of the termination message does not exist, and we do not create it. Then
 * only standard error has the message.
 */
function end(message: string, code: number): never {
  process.stderr.write(`${message}\n`);
  try {
    writeFileSync("/dev/termination-log", message, { flag: "r+" });
  } catch {
    // The message is already in the log.
  }
  process.exit(code);
}

type Process = Readonly<{
  log: Logger;
  stop: AbortController;
  /** Called when the Lease is lost. This process must not write after this call. */
  lost: () => void;
}>;

/** Serves until `stop` aborts. Rejects if the program cannot run. */
export async function serveProgram<Config extends Framed>(
  { manager, lease, open }: Pick<Program<Config>, "manager" | "lease" | "open">,
  config: Config,
  { log, stop, lost }: Process,
): Promise<void> {
  const { signal } = stop;
  const stopped = signal.aborted ? Promise.resolve() : once(signal, "abort");
  const meters = openMeters();
  const clock = new ServerClock();
  let observer: Observer = { asked() {}, leads() {} };
  const live = connect(
    loadKubeConfig(config.kubeconfig),
    (method, status) => observer.asked(method, status),
    { manager, clock, stop: signal },
  );
  const path = leaseIn(config.namespace ?? namespace, lease);
  const { leader, standby } = joinElection({ cluster: live, path }, log, lost, (leads) =>
    observer.leads(leads),
  );
  const served = open(config, {
    home: fenced(live, leader.holds),
    holds: leader.holds,
    log,
    meters,
    clock,
    stop: signal,
    leave: () => stop.abort(),
    observe: (next) => (observer = next),
  });
  const { succeeded = () => true } = served;
  const health: Health = {
    sick: () => (served.silence() > hangsSeconds ? `no run for ${hangsSeconds} s` : undefined),
    ready: () => ({
      ready: succeeded() || standby() !== "",
      reason: standby() || (succeeded() ? "ok" : "no run has succeeded yet"),
    }),
  };
  const server = await serve(config.listen, health, meters.registry);
  try {
    await Promise.race([served.prepare?.(), stopped]);
    if (signal.aborted) return;
    log.info({ cluster: live.identity, listen: server.address() }, "started");
    const ended = new AbortController();
    const campaign = leader.until(ended.signal);
    await Promise.race([leader.elected, stopped]);
    if (!signal.aborted) await served.until(signal);
    // The program's loop has ended, and the fence refuses writes that are still queued. We release
    // the Lease now, so that the next holder can start at once.
    ended.abort();
    await campaign;
  } finally {
    server.close();
    log.info("stopped");
  }
}

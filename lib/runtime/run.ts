/** Runs a program that writes to its cluster: command line, Lease, port, shutdown. */
import { once } from "node:events";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import { asksForHelp } from "#contract/arguments.ts";
import type { ParsedFlags } from "#contract/flags.ts";
import { namespace } from "#contract/names.ts";
import type { TableValues } from "#contract/table.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { leaseIn } from "#kube/client/paths.ts";
import { hangsSeconds } from "./loop.ts";
import { fenced } from "./fenced-client.ts";
import { keepMemoryOutOfCores } from "./cores.ts";
import { openLog } from "./log.ts";
import { serve } from "./server.ts";
import { joinElection } from "./election.ts";
import type { common } from "./flags.ts";

type Around = Readonly<{
  /** The cluster in which the program runs. Writes to it are sent only while we hold the Lease. */
  home: Cluster;
  holds: () => boolean;
  log: Logger;
  registry: Registry;
}>;

/** The work of a program. */
export type ServedProgram = Readonly<{
  /** Serves until `signal` aborts. Never rejects. */
  until: (signal: AbortSignal) => Promise<void>;
  /** Seconds since the last run of the program's loop ended. */
  silence: () => number;
}>;

type Program<Config> = Readonly<{
  /** Field manager of the program's writes, and the name that the audit log shows. */
  manager: string;
  /** Name of its Lease. */
  lease: string;
  usage: () => string;
  parse: (argv: readonly string[]) => ParsedFlags<Config>;
  open: (config: Config, around: Around) => ServedProgram;
}>;

/**
 * Runs the program until SIGTERM. Never rejects: the last line of the log reports what stopped the
 * program.
 */
export function runProgram<Config extends TableValues<typeof common>>(
  program: Program<Config>,
): void {
  main(program, process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  });
}

async function main<Config extends TableValues<typeof common>>(
  { manager, lease, usage, parse, open }: Program<Config>,
  argv: readonly string[],
): Promise<void> {
  if (asksForHelp(argv)) return void process.stdout.write(usage());
  const parsed = parse(argv);
  if (!parsed.ok) {
    process.stderr.write(`${parsed.errors.join("\n")}\n`);
    process.exit(2);
  }
  const config = parsed.value;
  keepMemoryOutOfCores();
  const level = config["log-level"];
  const log = openLog(level);
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());
  const stopped = once(stop.signal, "abort");
  const how = { manager, stop: stop.signal };
  const live = connect(loadKubeConfig(config.kubeconfig), () => {}, how);
  const place = { cluster: live, name: lease, path: leaseIn(namespace, lease) };
  const { leader, leads, standby } = joinElection(place, log, () => process.exit(1));
  const registry = new Registry();
  const home = fenced(live, leader.holds);
  const served = open(config, { home, holds: leader.holds, log, registry });
  const health = {
    sick: () =>
      leads() && served.silence() > hangsSeconds ? `no run for ${hangsSeconds} s` : undefined,
    ready: () => ({ ready: true, reason: standby() || "ok" }),
  };
  const server = await serve(config.listen, health, registry);
  log.info({ cluster: live.identity, listen: server.address() }, "started");
  const over = new AbortController();
  const campaign = leader.until(over.signal);
  await Promise.race([leader.elected, stopped]);
  if (!stop.signal.aborted) await served.until(stop.signal);
  // No more writes follow. We release the Lease now, so that the next holder can start at once.
  over.abort();
  await campaign;
  server.close();
  log.info("stopped");
  process.exit(0);
}

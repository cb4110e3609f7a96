/** Global Pull Secret's controller: reads the command line, serves its cluster until SIGTERM. */
import { writeFileSync } from "node:fs";
import { asksForHelp } from "#contract/arguments.ts";
import { openCluster } from "./cluster.ts";
import { parseConfig } from "./policy/config.ts";
import { keepMemoryOutOfCores } from "#runtime/cores.ts";
import { usage } from "./policy/flags.ts";
import { createMetrics } from "./status/metrics.ts";
import { openLog } from "#runtime/log.ts";
import { serve } from "#runtime/server.ts";

/**
 * The container's termination message. Outside a pod this file does not exist, and we do not create
 * it.
 */
function leaveMessage(text: string): void {
  process.stderr.write(`${text}\n`);
  try {
    writeFileSync("/dev/termination-log", text, { flag: "r+" });
  } catch {
    // The text is already in the log.
  }
}

async function main(argv: readonly string[]): Promise<void> {
  if (asksForHelp(argv)) return void process.stdout.write(usage());
  const parsed = parseConfig(argv);
  if (!parsed.ok) {
    leaveMessage(parsed.errors.join("\n"));
    process.exit(2);
  }
  const config = parsed.value;
  keepMemoryOutOfCores();
  const log = openLog(config.logLevel);
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());
  const metrics = createMetrics();
  const cluster = openCluster({
    config,
    log,
    metrics,
    end: () => process.exit(1),
    leave: () => stop.abort(),
  });
  const server = await serve(config.listen, cluster.health, metrics.registry);
  await cluster.serve(stop.signal);
  server.close();
  log.info("stopped");
  process.exit(0);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  leaveMessage((error as Error).message);
  process.exit(1);
});

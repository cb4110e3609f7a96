/** The fleet's controller: reads the command line, serves FleetSecrets until SIGTERM. */
import { once } from "node:events";
import { pino } from "pino";
import { Registry } from "prom-client";
import { asksForHelp } from "#contract/arguments.ts";
import { connect, loadKubeConfig } from "#kube/client/client.ts";
import { namespace } from "#contract/names.ts";
import { leaseIn } from "#kube/client/paths.ts";
import { fenced } from "#kube/lease/fenced-client.ts";
import { stand } from "#kube/lease/stand.ts";
import { keepMemoryOutOfCores } from "#program/cores.ts";
import { serve } from "#program/server.ts";
import { fleetUsage, parseFleetConfig } from "./flags.ts";
import { fleetManager } from "./guest/manager.ts";
import { createFleets } from "./fleets.ts";

/** Seconds without a finished run after which the loop counts as hanging: 10 minutes. */
const hangsSeconds = 600;

async function main(argv: readonly string[]): Promise<void> {
  if (asksForHelp(argv)) return void process.stdout.write(fleetUsage());
  const parsed = parseFleetConfig(argv);
  if (!parsed.ok) {
    process.stderr.write(`${parsed.errors.join("\n")}\n`);
    process.exit(2);
  }
  const config = parsed.value;
  keepMemoryOutOfCores();
  const level = config["log-level"];
  const log = pino({ level, base: null }, pino.destination({ dest: 1, sync: true }));
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());
  const stopped = once(stop.signal, "abort");
  const live = connect(loadKubeConfig(config.kubeconfig), () => {}, { manager: fleetManager });
  const place = { cluster: live, name: fleetManager, path: leaseIn(namespace, fleetManager) };
  const { leader, leads, standby } = stand(place, log, () => process.exit(1));
  const home = fenced(live, leader.holds);
  const registry = new Registry();
  const namespaces = config["fleet-namespaces"];
  const clusterNamespaces = config["cluster-namespaces"];
  const its = { home, holds: leader.holds, log, registry };
  const fleets = createFleets({ ...its, namespaces, clusterNamespaces });
  const health = {
    sick: () =>
      leads() && Date.now() - fleets.finished() > hangsSeconds * 1000
        ? `no run for ${hangsSeconds} s`
        : undefined,
    ready: () => ({ ready: true, says: standby() || "ok" }),
  };
  const server = await serve(config.listen, health, registry);
  log.info({ cluster: live.identity, namespaces }, "started");
  const over = new AbortController();
  const campaign = leader.until(over.signal);
  await Promise.race([leader.elected, stopped]);
  if (!stop.signal.aborted) await fleets.until(stop.signal);
  // The Lease is renewed until the last write is over, so that the next controller need not wait.
  over.abort();
  await campaign;
  server.close();
  log.info("stopped");
  process.exit(0);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
});

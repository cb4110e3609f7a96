/** The management side: creates a Secret from each SyncSecret in the tenants' namespaces. */
import type { Logger } from "pino";
import { readFlags, type ParsedFlags } from "#contract/flags.ts";
import { usage as usageOf, type TableValues } from "#contract/table.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { common as flags } from "#runtime/flags.ts";
import { tenantLabel } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { watchCollection } from "#kube/watch/collection.ts";
import { createLoop } from "#runtime/loop.ts";
import { runProgram, type ServedProgram } from "#runtime/run.ts";
import { createAlarm, createMetrics, type Metrics } from "./metrics.ts";
import { metadataOf } from "./objects.ts";
import { serveSide } from "./service.ts";
import { managementSide, type Side } from "./side.ts";
import { syncManager } from "./rules/copies.ts";

type ManagementConfig = TableValues<typeof flags>;

/** Reads the command line. Reports all errors at once. */
const parseManagementConfig = (argv: readonly string[]): ParsedFlags<ManagementConfig> =>
  readFlags(flags, { argv, quote });

const managementUsage = (): string =>
  `Creates a Secret from each SyncSecret in the tenants' namespaces.\n${usageOf(flags)}`;

const namespaces = "/api/v1/namespaces";
const query = { labelSelector: tenantLabel };

type Tenant = Readonly<{ stop: AbortController; ended: Promise<void> }>;

function serveTenants(
  cluster: Cluster,
  log: Logger,
  metrics: Metrics,
  leftBehind: NonNullable<Side["leftBehind"]>,
): ServedProgram {
  const tenants = new Map<string, Tenant>();

  async function run(): Promise<undefined> {
    const found = await metadataOf(cluster, namespaces, query);
    const names = new Set(found.flatMap(({ name }) => name ?? []));
    for (const [name, { stop }] of tenants) {
      if (names.has(name)) continue;
      log.info({ namespace: name }, "no longer a tenant's namespace: nothing is changed there");
      stop.abort();
      tenants.delete(name);
    }
    for (const name of names) if (!tenants.has(name)) begin(name);
  }

  function begin(namespace: string): void {
    const stop = new AbortController();
    const its = log.child({ tenant: namespace });
    const served = serveSide(managementSide(cluster, namespace, leftBehind), its, metrics);
    tenants.set(namespace, { stop, ended: served.until(stop.signal) });
    log.info({ namespace }, "a tenant's namespace is served");
  }

  const loop = createLoop({
    run,
    failed(error, failures) {
      const message = (error as Error).message;
      log.error({ failures, error: message }, "the namespaces cannot be listed; trying again");
      return undefined;
    },
  });

  return {
    silence: loop.silence,
    async until(signal) {
      const failed = (error: Error) => log.warn({ error: error.message }, "a watch failed");
      const watch = { cluster, path: namespaces, query, hint: loop.hint, failed, signal };
      const watching = watchCollection(watch);
      await loop.until(signal);
      for (const { stop } of tenants.values()) stop.abort();
      await Promise.all([watching, ...[...tenants.values()].map(({ ended }) => ended)]);
    },
  };
}

runProgram({
  manager: syncManager,
  lease: "global-pull-secret-sync-management",
  usage: managementUsage,
  parse: parseManagementConfig,
  open: (_config, { home, log, meters }) =>
    serveTenants(home, log, createMetrics(meters), createAlarm(home, meters)),
});

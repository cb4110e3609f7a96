/** The management side: creates a Secret from each SyncSecret in the tenants' namespaces. */
import type { Logger } from "pino";
import { commandLine, common } from "#runtime/flags.ts";
import { tenantLabel } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { watchCollection } from "#kube/watch/collection.ts";
import { createLoop, logFailures, warnOf } from "#runtime/loop.ts";
import { runProgram, type ServedProgram } from "#runtime/run.ts";
import { createAlarm, createMetrics, type Metrics } from "./metrics.ts";
import { metadataOf } from "./objects.ts";
import { serveSide } from "./service.ts";
import { managementSide, type Side } from "./side.ts";
import { syncManager } from "./rules/copies.ts";

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
    const tenantNamespaces = await metadataOf(cluster, namespaces, query);
    const names = new Set(tenantNamespaces.flatMap(({ name }) => name ?? []));
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
    failed: logFailures(log, "the namespaces cannot be listed; trying again"),
  });

  return {
    silence: loop.silence,
    async until(signal) {
      const failed = warnOf(log, "a watch failed");
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
  ...commandLine("Creates a Secret from each SyncSecret in the tenants' namespaces.", common),
  open: (_config, { home, log, meters }) =>
    serveTenants(home, log, createMetrics(meters), createAlarm(home, meters)),
});

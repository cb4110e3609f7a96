/**
 * Serves every tenant's namespace in a loop of its own, so that one that cannot be read delays no
 * other.
 */
import type { Logger } from "pino";
import { tenantLabel } from "#contract/sync-names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { watchCollection } from "#kube/watch/collection.ts";
import { createLoop } from "#kube/loop.ts";
import type { Metrics } from "../metrics.ts";
import { metadataOf } from "../objects.ts";
import type { ServedProgram } from "#program/run.ts";
import { serveSide } from "../service.ts";
import type { Side } from "../side.ts";
import { managementSide } from "./side.ts";

const namespaces = "/api/v1/namespaces";
const query = { labelSelector: tenantLabel };

type Tenant = Readonly<{ stop: AbortController; ended: Promise<void> }>;

export function serveTenants(
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
      log.info({ namespace: name }, "no tenant's any more: nothing is changed there");
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
      log.error({ failures, error: message }, "the namespaces cannot be listed; tried again");
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

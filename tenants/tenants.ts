/** Serves each tenant's namespace of the management cluster in its own loop. */
import type { V1Namespace } from "@kubernetes/client-node";
import type { Logger } from "pino";
import { tenantLabel } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { watchCollection } from "#kube/watch/collection.ts";
import type { Meters } from "#runtime/metrics.ts";
import { createLoop, logFailures, warnOf } from "#runtime/loop.ts";
import type { ServedProgram } from "#runtime/run.ts";
import { newGate } from "./engine.ts";
import { createExcess, createMetrics } from "./metrics.ts";
import { serveSide } from "./service.ts";
import { managementSide } from "./side.ts";

const namespaces = "/api/v1/namespaces";
const query = { labelSelector: tenantLabel };

type Tenant = Readonly<{ stop: AbortController; ended: Promise<void> }>;

export function serveTenants(cluster: Cluster, log: Logger, meters: Meters): ServedProgram {
  const tenants = new Map<string, Tenant>();
  const metrics = createMetrics(meters);
  const excessIn = createExcess(cluster, meters);
  const gate = newGate();

  async function run(): Promise<undefined> {
    const names = new Set<string>();
    await cluster.pages<V1Namespace>(
      namespaces,
      query,
      (page) => page.forEach(({ metadata }) => names.add(metadata?.name ?? "")),
      { as: "metadata" },
    );
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
    const side = managementSide(cluster, namespace, { exceeded: excessIn(namespace) });
    const served = serveSide({ side, namespace, log: its, metrics, gate });
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

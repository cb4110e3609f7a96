/**
 * The management side of SyncSecret with its default settings. The API server is in memory, so this
 * measures the program's own work: many tenants with many Secrets, of which one changes its Secrets
 * without a pause, and a tenant with very many.
 */
import { readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import type { SyncSecret } from "#api/sync-secret.ts";
import { tenantLabel } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { openMeters } from "#runtime/metrics.ts";
import { syncSecretsIn } from "#tenants/objects.ts";
import { serveTenants } from "#tenants/tenants.ts";
import { until } from "#test/cluster/await.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import type { Measurement } from "../result/bench.ts";
import { measure } from "../result/result.ts";

const definition = readFileSync("manifests/chart/files/syncsecrets/syncsecrets.yaml", "utf8");
const base64 = (text: string) => Buffer.from(text).toString("base64");

export const tenants: Measurement = {
  name: "tenants",
  async run({ quick }) {
    const each = quick ? 20 : 100;
    const many = each * 100;
    const shared = await served(
      Array.from({ length: 100 }, () => each),
      true,
    );
    const flooded = await served([many, 1]);
    const row = (name: string, seconds: number, atMost: number) =>
      measure({ name, unit: "s", atMost }, [seconds]);
    return [
      row(`100 tenants with ${each} SyncSecrets each, one hostile, first round`, shared.first, 60),
      row(`a tenant with ${many} SyncSecrets, first round`, flooded.first, 60),
      row("another tenant's rotation during that round", flooded.rotation, 2),
    ];
  },
};

/** Seconds of the first round, and of a rotation of the last tenant's first object during it. */
type Served = Readonly<{ first: number; rotation: number }>;

/**
 * Serves new tenants with so many SyncSecrets each. If `isHostile`, the first tenant changes its
 * objects without a pause.
 */
async function served(counts: readonly number[], isHostile = false): Promise<Served> {
  const api = new FakeApi();
  api.store.define(definition);
  const cluster = directly(api, "global-pull-secret-sync");
  const copies: SyncSecret[] = [];
  for (const [at, count] of counts.entries())
    copies.push(...(await createTenant(cluster, `tenant-${at}`, count)));
  const last = copies.at(-1);
  if (last === undefined) throw new Error("no SyncSecret");
  const secretOf = ({ metadata: { namespace = "", uid } }: SyncSecret) =>
    api.object<{ data?: Readonly<Record<string, string>> }>(`${secretsIn(namespace)}/${uid}`);
  const stop = new AbortController();
  const begun = performance.now();
  const log = pino({ level: "silent" });
  const ended = serveTenants(cluster, log, openMeters()).until(stop.signal);
  const flooded = isHostile ? flood(cluster, copies.slice(0, counts[0]), stop.signal) : undefined;
  try {
    await until("the last tenant is served", () => secretOf(last) !== undefined, { every: 5 });
    const changed = performance.now();
    await rotate(cluster, last, "two");
    const isNew = () => secretOf(last)?.data?.["a"] === base64("two");
    await until("its rotation has arrived", isNew, { every: 5 });
    const rotation = seconds(changed);
    const isWhole = () => copies.every((copy) => secretOf(copy) !== undefined);
    await until("every SyncSecret is served", isWhole, { every: 500, timeout: 300_000 });
    return { first: seconds(begun), rotation };
  } finally {
    stop.abort();
    await ended;
    await flooded;
  }
}

/** Changes one of the objects after the other until the end of the measurement. */
async function flood(cluster: Cluster, copies: readonly SyncSecret[], signal: AbortSignal) {
  for (let at = 0; !signal.aborted; at += 1) {
    const copy = copies[at % copies.length];
    if (copy !== undefined) await rotate(cluster, copy, `flood ${at}`);
    await setImmediate();
  }
}

async function createTenant(cluster: Cluster, name: string, count: number): Promise<SyncSecret[]> {
  const metadata = { name, labels: { [tenantLabel]: name } };
  await cluster.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  const copies: SyncSecret[] = [];
  for (let at = 0; at < count; at += 1)
    copies.push(
      await cluster.create<SyncSecret>(syncSecretsIn(name), {
        apiVersion: "globalpullsecret.io/v1alpha1",
        kind: "SyncSecret",
        metadata: { name: `s${at}`, namespace: name },
        data: { a: base64("one") },
      }),
    );
  return copies;
}

async function rotate(cluster: Cluster, { metadata }: SyncSecret, value: string): Promise<void> {
  const path = `${syncSecretsIn(metadata.namespace ?? "")}/${metadata.name}`;
  const live = await cluster.get<SyncSecret>(path);
  const { resourceVersion = "", uid = "" } = live?.metadata ?? metadata;
  await cluster.patch(path, { metadata: { uid, resourceVersion }, data: { a: base64(value) } });
}

const seconds = (since: number): number => (performance.now() - since) / 1000;

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pino } from "pino";
import type { FleetSecretStatus } from "#api/fleet-secret.ts";
import { fleetSecretsIn } from "#kube/client/paths.ts";
import { openMeters } from "#runtime/metrics.ts";
import { until } from "#test/cluster/await.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { createFleets } from "./fleets.ts";

const definition = readFileSync("manifests/chart/files/fleetsecrets/fleetsecrets.yaml", "utf8");
const fleetSecrets = fleetSecretsIn("kube-system");

/** The states of a cluster in the CRD. */
const states = /^ +state:\n.*\n +enum: \[(.+)\]$/m.exec(definition)?.[1]?.split(", ") ?? [];

test("counts the clusters of each FleetSecret by state, and forgets a deleted FleetSecret", async () => {
  assert.ok(states.includes("Done") && states.includes("Leaving"), states.join());
  const api = new FakeApi();
  api.store.define(definition);
  const admin = directly(api, "admin");
  const since = new Date().toISOString();
  const clusters = states.flatMap((state, at) =>
    Array.from({ length: at + 1 }, (_, number) => ({ name: `${state}${number}`, state, since })),
  );
  const givenUp = [{ name: "gone", reason: "GPS436" }];
  const statuses: Readonly<Record<string, object>> = { full: { clusters, givenUp }, empty: {} };
  await admin.create("/api/v1/namespaces", { metadata: { name: "kube-system" } });
  for (const [name, status] of Object.entries(statuses)) {
    const fleetSecret = {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "FleetSecret",
      metadata: { name, namespace: "kube-system" },
      spec: { secretRef: { name: "source" }, target: { name: "target" } },
    };
    await admin.create(fleetSecrets, fleetSecret);
    const withStatus = { ...fleetSecret, status: status as FleetSecretStatus };
    await admin.apply(`${fleetSecrets}/${name}/status`, withStatus, {
      manager: "admin",
      force: true,
    });
  }
  // The statuses stay as they are, so the metrics can be compared with them.
  api.refuses = ({ path }, verb) =>
    verb === "patch" && path.endsWith("/status") ? refuse(403, "Forbidden", "no") : undefined;
  const meters = openMeters();
  const stop = new AbortController();
  const ended = createFleets({
    home: directly(api, "global-pull-secret-fleet"),
    holds: () => true,
    log: pino({ level: "silent" }),
    meters,
    namespace: "kube-system",
    clusterNamespaces: [],
  }).until(stop.signal);
  const lines = async () =>
    (await meters.registry.metrics())
      .split("\n")
      .filter((line) => line.startsWith("global_pull_secret_fleet_clusters{"))
      .toSorted();
  const linesOf = (name: string, count: (at: number) => number, givenUpCount: number) =>
    [...states.map((state, at) => [state, count(at)]), ["GivenUp", givenUpCount]].map(
      ([state, value]) =>
        `global_pull_secret_fleet_clusters{object="kube-system/${name}",state="${state}"} ${value}`,
    );
  const full = linesOf("full", (at) => at + 1, 1);
  const empty = linesOf("empty", () => 0, 0);
  try {
    const limits = { timeout: 5000, seen: lines };
    await until("both are counted", async () => (await lines()).length > 0, limits);
    assert.deepEqual(await lines(), [...full, ...empty].toSorted());
    const path = `${fleetSecrets}/empty`;
    const { metadata } = api.object<{ metadata: { uid: string } }>(path) ?? assert.fail("none");
    await admin.remove(path, metadata.uid);
    const isForgotten = async () => !(await lines()).some((line) => empty.includes(line));
    await until("the deleted object is forgotten", isForgotten, limits);
    assert.deepEqual(await lines(), full.toSorted());
  } finally {
    stop.abort();
    await ended;
  }
});

/** The deletion of a tenant's namespace, and what can delay the deletion. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import type { Rig } from "./rig.ts";
import {
  deploy,
  grant,
  manifests,
  objectIn,
  readyOf,
  syncSecret,
  tenantAccess,
  untilReason,
  type Management,
} from "./sync.ts";

/**
 * Makes a tenant's namespace and copies in it, as a tenant's side does, and waits for their
 * Secrets.
 */
async function tenantWith(management: Management, where: string, ...names: readonly string[]) {
  await grant(management, where);
  await management.cluster.kubectl("delete", "resourcequota", "--all", "-n", where);
  const copies = names.map((name) => syncSecret(name, { stringData: { a: "1" } }, where));
  await management.cluster.apply(...copies);
  for (const name of names)
    await until(`${name} has its Secret`, async () => {
      return readyOf(await objectIn(management, name, where))?.reason === "Synced";
    });
}

const leave = ({ cluster }: Management, where: string) =>
  cluster.kubectl("delete", "namespace", where, "--wait=false");

const untilGone = ({ api }: Management, where: string) =>
  until(
    `namespace ${where} is gone`,
    async () => (await api.get(`/api/v1/namespaces/${where}`)) === undefined,
    {
      timeout: 90_000,
      seen: async () => JSON.stringify(await api.get(`/api/v1/namespaces/${where}`)),
    },
  );

export function leavingTests(rig: () => Rig): void {
  test("L3, L18: lets an administrator delete a tenant's namespace with all its SyncSecrets", async () => {
    const { management, start } = rig();
    start();
    await tenantWith(management, "tenant-leaves", "one", "two");
    await leave(management, "tenant-leaves");
    await untilGone(management, "tenant-leaves");
  });

  test("L3: lets an administrator delete a tenant's namespace while no program runs", async () => {
    const on = rig();
    on.start();
    await tenantWith(on.management, "tenant-alone", "one");
    await on.stop("killed");
    await leave(on.management, "tenant-alone");
    await untilGone(on.management, "tenant-alone");
    on.start();
  });

  test("L3: keeps and reports a deleted object while the tenant's namespace in the management cluster is missing, and removes the object when the namespace exists again", async () => {
    const { management, tenant, start } = rig();
    start();
    await tenant.cluster.apply(syncSecret("left", { stringData: { a: "1" } }));
    await untilReason(tenant, "left", "Synced");
    await leave(management, "tenant-a");
    await untilGone(management, "tenant-a");
    await tenant.cluster.kubectl("delete", "syncsecret", "left", "--wait=false");
    const said = async () => readyOf(await objectIn(tenant, "left"))?.message ?? "";
    await until("status reports it", async () => (await said()).startsWith("GPS481"), {
      timeout: 60_000,
      seen: said,
    });
    await grant(management, "tenant-a");
    await management.cluster.kubectl("delete", "resourcequota", "--all", "-n", "tenant-a");
    // Writes the new account's token to the same file, which the program reads again.
    await tenantAccess(management);
    await until("the object is gone", async () => (await objectIn(tenant, "left")) === undefined, {
      timeout: 90_000,
      seen: said,
    });
  });
}

/** Must be last, because it removes both programs' accounts. */
export function uninstallTests(rig: () => Rig): void {
  test("L20: lets kubectl delete -k finish for both sides in any order, and removes waiting objects when the tenant's side is applied again", async () => {
    const { management, tenant, start, stop } = rig();
    const drop = (cluster: Rig["tenant"]["cluster"], what: string, ...how: readonly string[]) =>
      cluster.kubectl("delete", "-k", what, ...how);
    start();
    await tenant.cluster.apply(syncSecret("uninstalled", { stringData: { a: "1" } }));
    await untilReason(tenant, "uninstalled", "Synced");
    await stop("killed");
    await drop(tenant.cluster, manifests.tenant, "--timeout=60s");
    assert.ok(await objectIn(tenant, "uninstalled"));
    await drop(tenant.cluster, manifests.definition, "--wait=false");
    const isThere = async () =>
      (await tenant.cluster.kubectl("get", "crds", "-o", "name")).includes("syncsecrets");
    assert.ok(await isThere());
    // Applies the program again, which finishes the deletion, as docs/use/uninstall.md describes.
    await deploy(tenant.cluster, "tenant");
    start();
    await until("the CRD is gone", async () => !(await isThere()), { timeout: 90_000 });
    await stop("killed");
    await drop(management.cluster, manifests.management, "--timeout=60s");
    await deploy(tenant.cluster, "tenant");
  });
}

/** Problems between the two sides. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import { deskFor, recipes } from "./page.ts";
import { startManagementSide, startTenantSide } from "./programs.ts";
import type { Rig } from "./rig.ts";
import {
  base64,
  copyOf,
  grant,
  objectIn,
  readyOf,
  secretIn,
  syncSecret,
  untilReason,
  untilSecret,
} from "./sync.ts";

const data = { a: base64("1") };

export function troubleTests(rig: () => Rig): void {
  test("L16, L17: repairs the Secret and its copy when another client edits or deletes them", async () => {
    const { management, tenant, start } = rig();
    start();
    await tenant.cluster.apply(syncSecret("kept", { stringData: { a: "1" } }));
    const first = await untilSecret(tenant, management, "kept", { data });
    const name = first.metadata?.name ?? "";
    const copy = (await objectIn(tenant, "kept"))?.metadata.uid ?? "";
    const patch = (its: string, change: object) =>
      management.cluster.kubectl(
        "patch",
        its,
        "--namespace=tenant-a",
        "--type=merge",
        "-p",
        JSON.stringify(change),
      );
    const labels = { "globalpullsecret.io/origin-name": null, "app.kubernetes.io/managed-by": "x" };
    const edits: readonly (readonly [what: string, edit: () => Promise<string>])[] = [
      ["a value", () => patch(`secret/${name}`, { data: { a: "eA==" } })],
      ["a key beside it", () => patch(`secret/${name}`, { data: { b: "eA==" } })],
      ["labels", () => patch(`secret/${name}`, { metadata: { labels } })],
      ["the owner", () => patch(`secret/${name}`, { metadata: { ownerReferences: null } })],
      ["immutable", () => patch(`secret/${name}`, { data: { a: "eA==" }, immutable: true })],
      ["a value of the copy", () => patch(`syncsecret/${copy}`, { data: { a: "eA==" } })],
      ["the copy's origin", () => patch(`syncsecret/${copy}`, { metadata: { labels } })],
      ["a deletion", () => management.cluster.kubectl("delete", "secret", name, "-n", "tenant-a")],
    ];
    for (const [what, edit] of edits) {
      await edit();
      await until(`${what} is repaired`, async () => {
        const secret = await secretIn(management, name);
        const { data: copied, metadata: meta } =
          (await copyOf(management, { metadata: { uid: copy } } as never)) ?? {};
        return (
          JSON.stringify(secret?.data) === JSON.stringify(data) &&
          JSON.stringify(copied) === JSON.stringify(data) &&
          secret?.immutable !== true &&
          secret?.metadata?.ownerReferences?.length === 1 &&
          secret.metadata.labels?.["globalpullsecret.io/origin-name"] === "kept" &&
          meta?.labels?.["globalpullsecret.io/origin-name"] === "kept"
        );
      });
    }
    // If a client deletes the copy itself, Kubernetes deletes its Secret too. The programs create
    // both again.
    await management.cluster.kubectl("delete", "syncsecret", copy, "-n", "tenant-a");
    await until("its Secret is gone", async () => (await secretIn(management, name)) === undefined);
    const second = await untilSecret(tenant, management, "kept", { data });
    assert.notEqual(second.metadata?.name, name);
  });

  test("does not touch another owner's Secret with the same name, and reports this Secret in the object's status", async () => {
    const { management, tenant, start, stop } = rig();
    await stop();
    await tenant.cluster.apply(syncSecret("foreign", { stringData: { a: "1" } }));
    start();
    const { metadata } = await untilReason(tenant, "foreign", "Synced");
    const copy = await copyOf(management, { metadata } as never);
    const name = copy?.metadata.uid ?? "";
    await stop();
    const its = { name, namespace: "tenant-a" };
    await management.cluster.kubectl("delete", "secret", name, "-n", "tenant-a");
    await management.cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: its });
    start();
    const object = await untilReason(tenant, "foreign", "Foreign");
    assert.match(readyOf(object)?.message ?? "", /^GPS465: /);
    await tenant.cluster.kubectl("delete", "syncsecret", "foreign", "--timeout=30s");
    assert.notEqual(await secretIn(management, name), undefined);
    await management.cluster.kubectl("delete", "secret", name, "-n", "tenant-a");
  });

  test("when content is invalid in a Secret, reports a code in the status of the tenant's object, and delays no other object", async () => {
    const { management, tenant, start } = rig();
    start();
    const bad = { type: "kubernetes.io/tls", stringData: { "tls.crt": "planted" } } as const;
    await tenant.cluster.apply(
      syncSecret("bad", bad),
      syncSecret("good", { stringData: { a: "1" } }),
    );
    const object = await untilReason(tenant, "bad", "Invalid");
    assert.match(readyOf(object)?.message ?? "", /^GPS463: .*tls\.key/);
    await untilSecret(tenant, management, "good", { data });
    assert.equal(await copyOf(management, object), undefined);
  });

  test("reports an object that exceeds the plugin's ResourceQuota, and copies the object when the quota allows it", async () => {
    const { management, tenant, start } = rig();
    start();
    const quota = () =>
      management.cluster.kubectl(
        "get",
        "resourcequota/global-pull-secret-sync",
        "--namespace=tenant-a",
        "-o",
        "jsonpath={.status.used}",
      );
    await grant(management, "tenant-a", 1);
    await until("SyncSecrets are counted", async () => (await quota()).includes("syncsecrets"));
    await tenant.cluster.apply(syncSecret("first", { stringData: { a: "1" } }));
    await untilSecret(tenant, management, "first", { data });
    await until("the first SyncSecret is counted", async () => (await quota()).includes('"1"'));
    await tenant.cluster.apply(syncSecret("second", { stringData: { a: "1" } }));
    const refused = await untilReason(tenant, "second", "Refused");
    assert.match(readyOf(refused)?.message ?? "", /^GPS466: .*403 Forbidden.*ResourceQuota/);
    await grant(management, "tenant-a", 2);
    await untilSecret(tenant, management, "second", { data });
    await management.cluster.kubectl("delete", "resourcequota", "--all", "-n", "tenant-a");
  });

  test("L3, L20, L31: reports waiting changes and deletions while the management cluster is away, and finishes them without help when the cluster is back", async () => {
    const on = rig();
    const { management, tenant, start, stop, programs } = on;
    start();
    const names = ["changed", "deleted", "rests"];
    await tenant.cluster.apply(
      ...names.map((name) => syncSecret(name, { stringData: { a: "1" } })),
    );
    for (const name of names) await untilSecret(tenant, management, name, { data });
    const rests = await untilReason(tenant, "rests", "Synced");
    await management.cluster.stopApiServer();
    await tenant.cluster.apply(syncSecret("changed", { stringData: { a: "2" } }));
    await tenant.cluster.kubectl("delete", "syncsecret", "deleted", "--wait=false");
    await untilReason(tenant, "changed", "Unreachable");
    const shown = await deskFor(on).run(recipes().notFollowing);
    assert.match(shown, /^changed +2 +2 +Unreachable$(.|\n)*^rests +1 +1 +Synced$/m);
    assert.notEqual(await objectIn(tenant, "deleted"), undefined);
    assert.equal(
      (await objectIn(tenant, "rests"))?.status?.resourceVersion,
      rests.status?.resourceVersion,
    );
    await management.cluster.startApiServer();
    await until("the change arrives", async () => {
      // Starts the programs again, like a kubelet, because a side that has lost its Lease ends.
      if (!programs.every((program) => program.runs())) {
        await stop("killed");
        start();
      }
      const name = (await objectIn(tenant, "changed"))?.status?.secretName ?? "";
      return (await secretIn(management, name))?.data?.["a"] === base64("2");
    });
    await until("the deleted object is gone", async () => {
      return (await objectIn(tenant, "deleted")) === undefined;
    });
    assert.equal((await untilReason(tenant, "rests", "Synced")).metadata.uid, rests.metadata.uid);
  });

  test("L1: makes no copies of copies when a tenant's side runs in the management cluster by mistake, and reports each copy in one line", async () => {
    const { management, tenant, access, start } = rig();
    start();
    await tenant.cluster.apply(syncSecret("once", { stringData: { a: "1" } }));
    await untilSecret(tenant, management, "once", { data });
    const copy = (await objectIn(tenant, "once"))?.metadata.uid ?? "";
    const mistaken = { ...management, kubeconfig: management.cluster.kubeconfig };
    await using side = startTenantSide(mistaken, access);
    // Shows that this side works: it copies an object that a user declares there.
    await management.cluster.apply(syncSecret("own", { stringData: { a: "1" } }));
    await untilReason(mistaken, "own", "Synced");
    const own = (await objectIn(management, "own"))?.metadata.uid ?? "";
    const reported = (name: string) =>
      side
        .output()
        .split("\n")
        .filter((line) => line.includes("GPS471: ") && line.includes(`"name":"${name}"`));
    for (const name of [copy, own])
      await until(`the log reports that ${name} is a copy`, () => reported(name).length > 0);
    const all = ["get", "syncsecrets", "-n", "tenant-a", "-o", "name"];
    const names = (await management.cluster.kubectl(...all)).trim().split("\n");
    const expected = [copy, own].map((name) => `syncsecret.globalpullsecret.io/${name}`);
    assert.deepEqual(names.toSorted(), expected.toSorted());
    const { finalizers } = (await objectIn(management, copy, "tenant-a"))?.metadata ?? {};
    assert.equal(finalizers, undefined);
    await management.cluster.kubectl("delete", "syncsecret", "own", "--timeout=60s");
  });

  test("lets only one of two processes of a side write, and lets the second process write when the first process dies", async () => {
    const { management, tenant, access, start, stop, programs } = rig();
    await stop();
    start();
    await until("the first processes write", () =>
      programs.every((program) => program.output().includes("this controller writes")),
    );
    await using managementStandby = startManagementSide(management);
    await using two = startTenantSide(tenant, access);
    const others = [managementStandby, two];
    await until("both second processes stand by", () =>
      others.every((other) => other.output().includes("standby: another")),
    );
    await tenant.cluster.apply(syncSecret("two", { stringData: { a: "1" } }));
    await untilSecret(tenant, management, "two", { data });
    await stop("killed");
    await tenant.cluster.apply(syncSecret("two", { stringData: { a: "2" } }));
    await untilSecret(tenant, management, "two", { data: { a: base64("2") } });
    // Waits, because the log line of a write arrives after the write.
    await until("both second processes report that they write", () =>
      others.every((other) => other.output().includes("updated")),
    );
    // The second processes have created nothing, because they began to write only after the first
    // processes died.
    assert.ok(others.every((other) => !other.output().includes("created")));
  });
}

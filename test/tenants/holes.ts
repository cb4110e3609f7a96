/**
 * A SyncSecret is plain text in etcd and in the audit log unless an administrator prevents it. The
 * audit log shows who requested the SyncSecret.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import { blocksBelow, deskFor, yamlOf } from "./page.ts";
import type { Rig } from "./rig.ts";
import { accessOf, apiOf, base64, objectIn, pathOf, syncSecret, untilSecret } from "./sync.ts";

export function holesTests(rig: () => Rig): void {
  test("keeps content out of etcd and the audit log with the page's configuration, and has plain text in etcd without this configuration", async () => {
    const { tenant, management, start } = rig();
    start();
    const planted = "planted-in-etcd";
    // Shows that the audit log contains bodies of requests, because the level for all other
    // resources is RequestResponse.
    await tenant.cluster.kubectl(
      "create",
      "configmap",
      "seen",
      "--from-literal=a=planted-in-a-map",
    );
    await tenant.cluster.apply(syncSecret("secret", { stringData: { a: planted } }));
    await untilSecret(tenant, management, "secret", { data: { a: base64(planted) } });
    const uid = (await objectIn(tenant, "secret"))?.metadata.uid ?? "";
    const sealed = await tenant.cluster.stored(
      "/registry/globalpullsecret.io/syncsecrets/default/secret",
    );
    assert.match(sealed, /^k8s:enc:secretbox:v1:key1:/);
    const open = await management.cluster.stored(
      `/registry/globalpullsecret.io/syncsecrets/tenant-a/${uid}`,
    );
    const forms = [planted, base64(planted)];
    assert.ok(
      forms.some((form) => open.includes(form)),
      "etcd has plain text without the configuration",
    );
    const log = readFileSync(tenant.cluster.auditLog, "utf8");
    assert.ok(log.includes("planted-in-a-map"), "the log has bodies");
    assert.ok(log.includes('"resource":"syncsecrets"'), "the log has SyncSecrets");
    for (const form of forms) {
      assert.ok(!sealed.includes(form));
      assert.ok(!log.includes(form));
    }
    await tenant.cluster.kubectl("delete", "configmap", "seen");
  });
  test("L32: shows with the page's command who requested SyncSecrets, and how often, from an audit log without content", async () => {
    const on = rig();
    const { tenant } = on;
    const { cluster } = tenant;
    await cluster.apply(
      syncSecret("audited", { stringData: { a: "planted-in-audit" } }),
      yamlOf("hands-over.yaml") as object,
    );
    // One account gets the page's Role, the other account has no rights.
    const places = ["hands-over", "curious"].map(async (name) => {
      await cluster.kubectl("create", "serviceaccount", name);
      return await accessOf(cluster, name, "default");
    });
    const [granted, curious] = await Promise.all(places);
    assert.ok(granted && curious);
    const its = ["--role=hands-over", "--serviceaccount=default:hands-over"];
    await cluster.kubectl("create", "rolebinding", "hands-over", ...its);
    await until("the role is in force", async () => {
      const account = apiOf(granted);
      return (await account.get(pathOf("default"))) !== undefined;
    });
    for (let times = 0; times < 3; times += 1)
      assert.notEqual(await apiOf(granted).get(pathOf("default", "audited")), undefined);
    await assert.rejects(apiOf(curious).get(pathOf("default", "audited")), /403 Forbidden/);
    const desk = deskFor(on);
    const [command] = blocksBelow("## Practices");
    const account = "system:serviceaccount:default";
    const shows = [
      `3 ${account}:hands-over\tget\tdefault\taudited\t200`,
      `1 ${account}:curious\tget\tdefault\taudited\t403`,
    ];
    const reported = await desk.run(command?.body ?? "");
    const lines = new Set(reported.split("\n").map((line) => line.trim()));
    for (const line of shows) assert.ok(lines.has(line), reported);
    assert.ok(
      !reported.includes("planted-in-audit") && !reported.includes(base64("planted-in-audit")),
    );
    await cluster.kubectl("delete", "rolebinding,role", "hands-over");
    await cluster.kubectl("delete", "serviceaccount", "hands-over", "curious");
  });
}

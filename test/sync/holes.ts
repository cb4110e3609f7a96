/** Where a SyncSecret is plain text unless somebody sees to it: etcd and the audit log. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Rig } from "./rig.ts";
import { base64, objectIn, syncSecret, untilSecret } from "./sync.ts";

export function holesTests(rig: () => Rig): void {
  test("what the page configures keeps content out of etcd and of the audit log; without it etcd has it in plain text", async () => {
    const { tenant, management, start } = rig();
    start();
    const planted = "planted-in-etcd";
    // The audit log is at RequestResponse for everything else: it does have bodies.
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
      forms.some((one) => open.includes(one)),
      "the hole is there",
    );
    const log = readFileSync(tenant.cluster.auditLog, "utf8");
    assert.ok(log.includes("planted-in-a-map"), "the log has bodies");
    assert.ok(log.includes('"resource":"syncsecrets"'), "the log has SyncSecrets");
    for (const one of forms) {
      assert.ok(!sealed.includes(one));
      assert.ok(!log.includes(one));
    }
    await tenant.cluster.kubectl("delete", "configmap", "seen");
  });
}

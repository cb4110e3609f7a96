/** What passes the schema of the tenant's object, and could not pass that of its copy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rig } from "./rig.ts";
import { copyOf, objectIn, readyOf, syncSecret, untilReason, type Declared } from "./sync.ts";

const keys = (letter: string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${letter}${at}`, "eA=="]));

const path = "/apis/globalpullsecret.io/v1alpha1/namespaces/default/syncsecrets";
/** Three bytes each: the schema counts characters. */
const wide = "€".repeat(87_381);

const table: readonly (readonly [name: string, declared: Declared, code?: string])[] = [
  ["keys", { data: keys("d", 32), stringData: keys("s", 32) }],
  ["more-keys", { data: keys("d", 33), stringData: keys("s", 32) }, "GPS469"],
  ["bytes", { stringData: { a: `${wide}p` } }],
  ["more-bytes", { stringData: { a: `${wide}pp` } }, "GPS470"],
];

export function boundsTests(rig: () => Rig): void {
  test("L12: at its bounds a SyncSecret arrives; one key or one byte more, and it says its code, makes no copy, and leaves", async () => {
    const { management, tenant, start } = rig();
    start();
    for (const [name, declared] of table) await tenant.api.create(path, syncSecret(name, declared));
    for (const [name, , code] of table) {
      const object = await untilReason(tenant, name, code === undefined ? "Synced" : "Invalid");
      if (code === undefined) continue;
      assert.match(readyOf(object)?.message ?? "", new RegExp(`^${code}: `));
      assert.equal(await copyOf(management, object), undefined);
      await tenant.cluster.kubectl("delete", "syncsecret", name, "--timeout=30s");
      assert.equal(await objectIn(tenant, name), undefined);
    }
  });
}

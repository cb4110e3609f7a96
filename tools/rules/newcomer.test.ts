/**
 * What a newcomer touches, by docs/architecture.md ("Where to go"): the page names files that are
 * there, and for the five most common changes the code is as narrow as the page says.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { crdFile, onlyVersion, ourCrd } from "../definition/crd.ts";
import { importsOf } from "./imports.ts";
import { codeOf } from "./purity.ts";

const most = 5;

/** What a new one implements; it is read, not changed. */
const ports = new Set(["agent/delivery/delivery.ts", "fleet/way/way.ts"]);

const sources = globSync("{agent,api,cli,contract,controller,fleet,kube,program,sync}/**/*.ts")
  .filter((file) => !/\.(?:test|fixture)\.ts$/.test(file))
  .map((file) => [file, readFileSync(file, "utf8")] as const);

/** Shipped files below a folder whose code says this, tests and generated ones apart. */
const saying = (folder: string, what: RegExp) =>
  sources
    .filter(([file, text]) => file.startsWith(folder) && what.test(codeOf(text)))
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

/**
 * Fields of GlobalPullSecret's spec that more files know: how many do, the definition included, and
 * why. None of these numbers may grow.
 */
const wider: Readonly<Record<string, readonly [files: number, why: string]>> = {
  managementState: [14, "Paused and Withdrawn stop or turn what every stage does"],
  sources: [7, "objects of their own, and those of a deleted GlobalPullSecret are kept"],
  "delivery.mode": [10, "agents are told it, and what some of them answer belongs to one mode"],
  "rollout.maxUnavailable": [20, "the budget of each step, and a field of the DaemonSet"],
  "rollout.probation": [10, "agents are told it, and patience with a node is counted from it"],
};

/** What the code says for a field outside controller/policy, where it is not the field's name. */
const elsewhere: Readonly<Record<string, string>> = {
  conflictPolicy: "merge\\.conflicts",
  protectedRegistries: "merge\\.protect",
  sources: "policy\\.sources",
  "delivery.mode": "delivery\\.mode|DeliveryMode",
  "delivery.credentialProvider": "registration|scope",
};

const spec = onlyVersion(ourCrd()).schema.properties?.["spec"]?.properties ?? {};
const fields = Object.entries(spec).flatMap(([name, { properties }]) =>
  properties === undefined ? [name] : Object.keys(properties).map((one) => `${name}.${one}`),
);

/** Fields that the policy has in seconds. */
const durations = new Set([
  "rollout.probation",
  "rollout.minInterval",
  "withdrawal.grace",
  "withdrawal.deadline",
  "withdrawal.forgetAfter",
]);

/** Files of the controller that know a field of the spec. */
function knowing(field: string): readonly string[] {
  const name = field.slice(field.indexOf(".") + 1);
  const inPolicy = saying("controller/policy/", new RegExp(`\\b${name}(?:Seconds)?\\b`));
  const outside = elsewhere[field] ?? (durations.has(field) ? `${name}Seconds` : name);
  const others = saying("controller/", new RegExp(`\\b(?:${outside})\\b`));
  // What once was a flag is named once more, to say where it went.
  const moved = "controller/policy/flags/moved-flags.ts";
  return [...new Set([...inPolicy, ...others])].filter((file) => file !== moved);
}

test("a policy field is in five files at most: its definition, default, translation, type and decision", () => {
  assert.ok(fields.length >= 13, fields.join());
  assert.deepEqual(
    Object.keys(wider).filter((field) => !fields.includes(field)),
    [],
  );
  for (const field of fields) {
    const files = [crdFile, ...knowing(field)];
    const [ceiling = most] = wider[field] ?? [];
    assert.ok(files.length <= ceiling, `${field}: ${files.length}: ${files.join(", ")}`);
  }
});

test("a kind of source is asked for in one case, and has its answers where its type is", () => {
  const kinds = "additional|extra|original";
  const asking = new RegExp(`case "(?:${kinds})":|[=!]== "(?:${kinds})"`);
  assert.deepEqual(saying("controller/", asking), ["controller/sources/source.ts"]);
  const made = new RegExp(`kind: "(?:${kinds})"`);
  assert.deepEqual(saying("controller/", made), ["controller/sources/read/input.ts"]);
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

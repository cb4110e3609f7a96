import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { notAdditive } from "./compatibility.fixture.ts";
import {
  crdFile,
  fleetCrdFile,
  nodeCrdFile,
  onlyVersion,
  ourCrd,
  readCrd,
  syncCrdFile,
  type Schema,
} from "./crd.ts";

const { schema } = onlyVersion(ourCrd());

/** Returns our CRD after a change to the schema at `path`. */
function changed(path: string, change: (field: Record<string, unknown>) => void): Schema {
  const copy = structuredClone(schema);
  let at = copy;
  for (const name of path.split(".")) {
    const below = name.endsWith("[]") ? at.properties?.[name.slice(0, -2)]?.items : undefined;
    at = below ?? at.properties?.[name] ?? assert.fail(path);
  }
  change(at);
  return copy;
}

/** Changes of our CRD, each with the expected message; undefined if the change only adds. */
const table: readonly (readonly [
  sentence: string,
  path: string,
  change: (field: Record<string, unknown>) => void,
  said: RegExp | undefined,
])[] = [
  [
    "a removed field",
    "spec",
    (field) => delete (field["properties"] as Record<string, unknown>)["rollout"],
    /removed/,
  ],
  [
    "a field that becomes required",
    "spec",
    (field) => (field["required"] = ["delivery"]),
    /^spec: delivery becomes required$/,
  ],
  [
    "a removed value",
    "spec.managementState",
    (field) => (field["enum"] = ["Managed", "Paused"]),
    /Withdrawn is no longer a value/,
  ],
  [
    "another default",
    "spec.rollout.probation",
    (field) => (field["default"] = "9s"),
    /default changes to "9s"/,
  ],
  [
    "a list of values where none was before",
    "spec.rollout.probation",
    (field) => (field["enum"] = ["5s"]),
    /bound to a list of values/,
  ],
  ["a shorter list", "spec.sources", (field) => (field["maxItems"] = 15), /maxItems falls to 15/],
  [
    "a higher least number",
    "spec.sources[].priority",
    (field) => (field["minimum"] = 0),
    /minimum rises to 0/,
  ],
  [
    "another type",
    "spec.sources[].priority",
    (field) => (field["type"] = "string"),
    /type changes to "string"/,
  ],
  ["a pattern", "spec.sources[].name", (field) => (field["pattern"] = "^a"), /pattern changes/],
  [
    "a rule",
    "spec.sources[].name",
    (field) => (field["x-kubernetes-validations"] = [{ rule: "self != 'b'" }]),
    /a rule is new: self != 'b'/,
  ],
  [
    "a rule about an existing field",
    "spec.rollout",
    (field) =>
      (field["x-kubernetes-validations"] = [
        { rule: "!has(self.probation) || self.maxFailures > 0" },
      ]),
    /a rule is new: !has\(self.probation\)/,
  ],
  [
    "a rule about a new field",
    "spec.rollout",
    (field) => {
      Object.assign(field["properties"] as object, { more: { type: "string" } });
      field["x-kubernetes-validations"] = [{ rule: "!has(self.more) || self.maxFailures > 0" }];
    },
    undefined,
  ],
  [
    "another way to merge a list",
    "status.failures",
    (field) => (field["x-kubernetes-list-type"] = "atomic"),
    /list-type changes/,
  ],
  [
    "another way to merge an object",
    "spec.rollout",
    (field) => (field["x-kubernetes-map-type"] = "atomic"),
    /map-type changes/,
  ],
  ["a longer list", "spec.sources", (field) => (field["maxItems"] = 32), undefined],
  [
    "a removed rule",
    "spec.sources[].name",
    (field) => delete field["x-kubernetes-validations"],
    undefined,
  ],
  [
    "an added field",
    "spec",
    (field) => Object.assign(field["properties"] as object, { more: { type: "string" } }),
    undefined,
  ],
  ["other words", "spec", (field) => (field["description"] = "Other words."), undefined],
  [
    "an added value",
    "spec.managementState",
    (field) => (field["enum"] as string[]).push("Frozen"),
    undefined,
  ],
];
for (const [sentence, path, change, said] of table)
  test(`treats ${sentence} as ${said === undefined ? "additive" : "refused"}`, () => {
    const problems = notAdditive(schema, changed(path, change));
    if (said === undefined) assert.deepEqual(problems, []);
    else assert.match(problems.join("\n"), said);
  });

const git = (...argv: readonly string[]) =>
  spawnSync("git", argv, { cwd: import.meta.dirname, encoding: "utf8" }).stdout ?? "";
/** The last published version. Before the first one, there is nothing to compare with. */
const tag = git("describe", "--tags", "--abbrev=0", "--match=v[0-9]*").trim();
test("finds the tag of a published version, if CHANGELOG.md names one", () => {
  const file = join(import.meta.dirname, "../../CHANGELOG.md");
  // The first section is about changes that might have no tag yet.
  const [, , ...sections] = readFileSync(file, "utf8").split(/^(?=## )/m);
  const isPublished = sections.some((section) => !section.includes("\nNever published."));
  assert.ok(!isPublished || tag !== "", "git shows no tag: fetch the tags, and let git read them");
});
const crds = [crdFile, nodeCrdFile, fleetCrdFile, syncCrdFile];
const files = git("ls-tree", "-r", "--full-tree", "--name-only", tag || "none", ...crds);
for (const file of files.split("\n").filter(Boolean))
  test(`${file} only adds to the CRD of ${tag}`, () => {
    const [before, now] = [readCrd(git("show", `${tag}:${file}`)), ourCrd(file)];
    assert.deepEqual(notAdditive(onlyVersion(before).schema, onlyVersion(now).schema), []);
  });

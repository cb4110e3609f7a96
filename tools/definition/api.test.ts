import assert from "node:assert/strict";
import { test } from "node:test";
import { whole } from "#api/whole.fixture.ts";
import { wholeFleet } from "#api/whole-fleet.fixture.ts";
import { wholeSync } from "#api/whole-sync.fixture.ts";
import { defaults } from "#controller/policy/defaults.ts";
import { providerDefaults } from "#controller/policy/policy.ts";
import { fieldsOf, fleetCrdFile, onlyVersion, ourCrd, syncCrdFile, type Schema } from "./crd.ts";

const { schema } = onlyVersion(ourCrd());
const { schema: fleet } = onlyVersion(ourCrd(fleetCrdFile));
const { schema: sync } = onlyVersion(ourCrd(syncCrdFile));
const both: readonly (readonly [value: object, schema: Schema])[] = [
  [whole, schema],
  [wholeFleet, fleet],
  [wholeSync, sync],
];

test("generates types with exactly the fields of the CRDs", () => {
  for (const [value, definition] of both) {
    const declared = fieldsOf(definition).map(({ path }) => path);
    assert.deepEqual(pathsOf(value).toSorted(), declared.toSorted());
  }
});

test("limits every text and every list as the CRDs do", () => {
  const all = both.flatMap(([, definition]) => fieldsOf(definition));
  const unbounded = all.flatMap(({ path, schema: one }) => {
    const known = path === "apiVersion" || path === "kind" || one.enum !== undefined;
    const isText = one.type === "string" || one["x-kubernetes-int-or-string"] === true;
    if (isText && !known && one.maxLength === undefined) return [`${path}: maxLength`];
    return one.type === "array" && one.maxItems === undefined ? [`${path}: maxItems`] : [];
  });
  assert.deepEqual(unbounded, []);
});

test("declares for every list how it is merged, and describes every field", () => {
  for (const { path, schema: one } of both.flatMap(([, all]) => fieldsOf(all))) {
    if (one.type === "array") assert.ok(one["x-kubernetes-list-type"], path);
    const items = path.endsWith("[]") && one.type !== "object";
    if (path !== "metadata" && !items) assert.match(one.description ?? "", /^\S.*\.$/, path);
  }
});

test("the controller and the API server use the same defaults", () => {
  const filled = fieldsOf(schema)
    .filter(({ path, schema: one }) => /^spec\.[\w.]+$/.test(path) && one.type !== "object")
    .map(({ path, schema: one }) => [path, one.default]);
  const delivery = { ...defaults.delivery, credentialProvider: providerDefaults };
  const known = Object.fromEntries(filled) as Record<string, unknown>;
  const said = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      assert.deepEqual(value, known[path], path);
    else for (const [name, one] of Object.entries(value)) said(one, `${path}.${name}`);
  };
  said({ ...defaults, delivery }, "spec");
});

test("finds a default for every field of spec, except names that only the user knows and the options of one delivery mode", () => {
  const without = fieldsOf(schema)
    .filter(({ path }) => path.startsWith("spec") && !path.endsWith("[]"))
    .filter(({ schema: one }) => one.default === undefined);
  assert.deepEqual(
    without.map(({ path }) => path),
    [
      "spec.sources[].name",
      "spec.sources[].secretRef",
      "spec.sources[].secretRef.name",
      "spec.delivery.credentialProvider",
    ],
  );
});

/** The paths of a value and of everything below it, in the form of fieldsOf. */
function pathsOf(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null || path === "metadata") return [path];
  if (Array.isArray(value)) return [path, ...pathsOf(value[0], `${path}[]`)];
  const below = Object.entries(value).flatMap(([name, one]) =>
    pathsOf(one, path === "" ? name : `${path}.${name}`),
  );
  return [path, ...below];
}

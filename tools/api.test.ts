import assert from "node:assert/strict";
import { test } from "node:test";
import { whole } from "#api/whole.fixture.ts";
import { fieldsOf, onlyVersion, ourCrd } from "./crd.ts";

const { schema } = onlyVersion(ourCrd());

test("the generated types have every field of the CRD, and no other", () => {
  // What is not below a plain object is not a field: an int-or-string, a scalar, metadata.
  const declared = fieldsOf(schema).map(({ path }) => path);
  assert.deepEqual(pathsOf(whole).toSorted(), declared.toSorted());
});

test("what the CRD bounds is bounded everywhere: every text, every list", () => {
  const unbounded = fieldsOf(schema).flatMap(({ path, schema: one }) => {
    const known = path === "apiVersion" || path === "kind" || one.enum !== undefined;
    const isText = one.type === "string" || one["x-kubernetes-int-or-string"] === true;
    if (isText && !known && one.maxLength === undefined) return [`${path}: maxLength`];
    return one.type === "array" && one.maxItems === undefined ? [`${path}: maxItems`] : [];
  });
  assert.deepEqual(unbounded, []);
});

test("every list says how it is merged, and every field what it is for", () => {
  for (const { path, schema: one } of fieldsOf(schema)) {
    if (one.type === "array") assert.ok(one["x-kubernetes-list-type"], path);
    const items = path.endsWith("[]") && one.type !== "object";
    if (path !== "metadata" && !items) assert.match(one.description ?? "", /^\S.*\.$/, path);
  }
});

test("every field of spec has a default, but for the parts of a source that only its user knows", () => {
  const without = fieldsOf(schema)
    .filter(({ path }) => path.startsWith("spec") && !path.endsWith("[]"))
    .filter(({ schema: one }) => one.default === undefined);
  assert.deepEqual(
    without.map(({ path }) => path),
    ["spec.sources[].name", "spec.sources[].secretRef", "spec.sources[].secretRef.name"],
  );
});

/** The paths of a value and of all below it, as fieldsOf names those of a schema. */
function pathsOf(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null || path === "metadata") return [path];
  if (Array.isArray(value)) return [path, ...pathsOf(value[0], `${path}[]`)];
  const below = Object.entries(value).flatMap(([name, one]) =>
    pathsOf(one, path === "" ? name : `${path}.${name}`),
  );
  return [path, ...below];
}

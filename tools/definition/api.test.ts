import assert from "node:assert/strict";
import { test } from "node:test";
import { whole } from "#api/whole.fixture.ts";
import { wholeFleet } from "#api/whole-fleet.fixture.ts";
import { wholeNode } from "#api/whole-node.fixture.ts";
import { wholeSync } from "#api/whole-sync.fixture.ts";
import { defaults } from "#controller/policy/defaults.ts";
import { providerDefaults } from "#controller/policy/policy.ts";
import {
  fieldsOf,
  fleetCrdFile,
  nodeCrdFile,
  onlyVersion,
  ourCrd,
  syncCrdFile,
  type Schema,
} from "./crd.ts";

const { schema } = onlyVersion(ourCrd());
const { schema: node } = onlyVersion(ourCrd(nodeCrdFile));
const { schema: fleet } = onlyVersion(ourCrd(fleetCrdFile));
const { schema: sync } = onlyVersion(ourCrd(syncCrdFile));
const all: readonly (readonly [value: object, schema: Schema])[] = [
  [whole, schema],
  [wholeNode, node],
  [wholeFleet, fleet],
  [wholeSync, sync],
];

test("generates types with exactly the fields of the CRDs", () => {
  for (const [value, definition] of all) {
    const declared = fieldsOf(definition).map(({ path }) => path);
    assert.deepEqual(pathsOf(value).toSorted(), declared.toSorted());
  }
});

test("limits every text and every list as the CRDs do", () => {
  const fields = all.flatMap(([, definition]) => fieldsOf(definition));
  const unbounded = fields.flatMap(({ path, schema: field }) => {
    const isBounded = path === "apiVersion" || path === "kind" || field.enum !== undefined;
    const isText = field.type === "string" || field["x-kubernetes-int-or-string"] === true;
    if (isText && !isBounded && field.maxLength === undefined) return [`${path}: maxLength`];
    return field.type === "array" && field.maxItems === undefined ? [`${path}: maxItems`] : [];
  });
  assert.deepEqual(unbounded, []);
});

test("declares for every list how it is merged, and describes every field", () => {
  for (const { path, schema: field } of all.flatMap(([, definition]) => fieldsOf(definition))) {
    if (field.type === "array") assert.ok(field["x-kubernetes-list-type"], path);
    const items = path.endsWith("[]") && field.type !== "object";
    if (path !== "metadata" && !items) assert.match(field.description ?? "", /^\S.*\.$/, path);
  }
});

test("the controller and the API server use the same defaults", () => {
  const filled = fieldsOf(schema)
    .filter(({ path, schema: field }) => /^spec\.[\w.]+$/.test(path) && field.type !== "object")
    .map(({ path, schema: field }) => [path, field.default]);
  const delivery = { ...defaults.delivery, credentialProvider: providerDefaults };
  const defaultsByPath = Object.fromEntries(filled) as Record<string, unknown>;
  const said = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      assert.deepEqual(value, defaultsByPath[path], path);
    else for (const [name, member] of Object.entries(value)) said(member, `${path}.${name}`);
  };
  said({ ...defaults, delivery }, "spec");
});

test("finds a default for every field of spec, except names that only the user knows and the options of one delivery mode", () => {
  const without = fieldsOf(schema)
    .filter(({ path }) => path.startsWith("spec") && !path.endsWith("[]"))
    .filter(({ schema: field }) => field.default === undefined);
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
  const below = Object.entries(value).flatMap(([name, member]) =>
    pathsOf(member, path === "" ? name : `${path}.${name}`),
  );
  return [path, ...below];
}

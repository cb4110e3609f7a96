import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, onlyVersion, ourCrd } from "../definition/crd.ts";
import { policySchema } from "./policy-schema.ts";

type Schema = Readonly<{
  description: string;
  type?: string | readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: boolean;
  items?: Schema;
  pattern?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
}>;

const schema = policySchema("The spec.") as Schema;

/** `path`: such as `rollout.probation` or `sources[].name`. */
function at(path: string, from = schema): Schema {
  const [name = "", ...rest] = path.split(".");
  const its = from.properties?.[name.replace("[]", "")];
  const field = name.endsWith("[]") ? its?.items : its;
  assert.ok(field, path);
  return rest.length === 0 ? field : at(rest.join("."), field);
}

test("the chart's value policy has exactly the fields of the CRD's spec, with their descriptions", () => {
  const spec = onlyVersion(ourCrd()).schema.properties?.["spec"];
  assert.ok(spec);
  for (const { path, schema: field } of fieldsOf(spec)) {
    if (path === "" || path.endsWith("[]")) continue;
    assert.equal(at(path).description, field.description, path);
    if (field.properties) assert.equal(at(path).additionalProperties, false, path);
  }
});

/** Path → values that the API server accepts, and values that it refuses. */
const values: Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>> =
  {
    "rollout.maxUnavailable": [
      ["10%", "100%"],
      ["0%", "101%", "x"],
    ],
    "rollout.maxFailures": [
      ["0%", "2%"],
      ["101%", "-1%"],
    ],
    "rollout.probation": [
      ["5s", "1m30s", "1h"],
      ["5", "soon", "1.5s"],
    ],
    "withdrawal.grace": [["30s", "0s"], ["1d"]],
    "sources[].name": [["team-a"], ["Team_A"]],
    "sources[].secretRef.name": [["team-a.b"], ["-a"]],
    "protectedRegistries[]": [["quay.io", "[::1]:5000/a"], ["quay.io/"]],
  };

test("the chart's value policy has the patterns of the CRD's rules", () => {
  for (const [path, [good, bad]] of Object.entries(values)) {
    const pattern = new RegExp(at(path).pattern ?? "(?!)");
    for (const text of good) assert.match(text, pattern, path);
    for (const text of bad) assert.doesNotMatch(text, pattern, path);
  }
});

test("the chart's value policy has the limits of the CRD's rules for numbers", () => {
  for (const [path, least] of [
    ["rollout.maxUnavailable", 1],
    ["rollout.maxFailures", 0],
  ] as const) {
    const { type, minimum, maximum } = at(path);
    assert.deepEqual([type, minimum, maximum], [["string", "integer"], least, 1_000_000], path);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { duration } from "#contract/values.ts";
import { flags } from "#controller/policy/flags.ts";
import { parseConfig } from "#controller/policy/config.ts";
import { badSamples, samples } from "./flag-samples.fixture.ts";
import { flagValues, named, usedBy, valueOf, valuesSchema } from "./values-schema.ts";
import { textOf } from "./yaml.ts";

test("accepts in the chart only durations that the plugin in the hook can read", () => {
  const schema = JSON.parse(valuesSchema()) as {
    properties: { uninstall: { properties: { timeout: { pattern: string } } } };
  };
  const pattern = new RegExp(schema.properties.uninstall.properties.timeout.pattern);
  const taken = ["4m", "90s", "2h", "999999h", "1m30s", "1h30m", "1h30m5s"];
  for (const text of [...taken, "30s1m", "0s", "05m", "4", "m", "", "1000000s", "1d"]) {
    assert.equal(pattern.test(text), taken.includes(text), text);
    if (taken.includes(text)) assert.equal(typeof duration(text), "number", text);
  }
});

test("allows the values that Helm adds for a dependency, and no other unknown value", () => {
  const { properties, additionalProperties } = JSON.parse(valuesSchema()) as {
    properties: Readonly<Record<string, { type: string }>>;
    additionalProperties: boolean;
  };
  assert.equal(properties["global"]?.type, "object");
  assert.equal(properties["enabled"]?.type, "boolean");
  assert.equal(additionalProperties, false);
});

test("shows no wait for Ready in the notes, because Ready can be True for the previous version of the Secret", () => {
  const notes = textOf("chart/templates/NOTES.txt");
  assert.doesNotMatch(notes, /condition=Ready/);
  assert.match(notes, /kubectl pull-secret wait/);
});

test("prefixes each named template, because a parent chart can have a template of the same name", () => {
  const names = [...textOf("chart/templates/_helpers.tpl").matchAll(/define "([^"]+)"/g)];
  assert.ok(names.length > 0);
  for (const [, name = ""] of names) assert.match(name, /^global-pull-secret\./);
});

type Value = Readonly<{
  description: string;
  type: string | readonly string[];
  properties?: Readonly<Record<string, Value>>;
  required?: readonly string[];
  items?: Value;
  pattern?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
}>;

const schema = JSON.parse(valuesSchema()) as Value;

/** Accepts or refuses a value as helm would. chart.test.ts runs the real helm. */
function takes(property: Value | undefined, value: unknown): boolean {
  if (property === undefined) return false;
  if (Array.isArray(value))
    return property.type === "array" && value.every((item) => takes(property.items, item));
  const type = typeof value === "number" ? "integer" : typeof value;
  if (![property.type].flat().includes(type)) return false;
  if (typeof value === "number")
    return value >= (property.minimum ?? 0) && value <= (property.maximum ?? Infinity);
  const text = String(value);
  return new RegExp(property.pattern ?? "").test(text) && (property.enum ?? [text]).includes(text);
}

test("accepts a flag's value in the schema exactly if the controller accepts this value", () => {
  const names = Object.keys(flags).filter((name) => Object.hasOwn(flagValues, valueOf(name)));
  assert.deepEqual(Object.keys(samples).toSorted(), names.map(valueOf).toSorted());
  const its = schema.properties?.["flags"]?.properties;
  const judged = (name: string, value: unknown) =>
    [value].flat().map((element) => parseConfig([`--${name}=${String(element)}`]).ok);
  for (const name of names) {
    const value = valueOf(name) as keyof typeof badSamples;
    assert.deepEqual(new Set(judged(name, samples[value])), new Set([true]), name);
    assert.ok(takes(its?.[value], samples[value]), name);
    if (name === "agent-image") continue;
    assert.deepEqual(judged(name, badSamples[value]), [false], name);
    assert.ok(!takes(its?.[value], badSamples[value]), name);
  }
  // The schema must also accept each flag's default.
  for (const [name, { standard, repeated }] of Object.entries(flagValues)) {
    if (standard === undefined || repeated) continue;
    const value = its?.[name]?.type === "integer" ? Number(standard) : standard;
    assert.ok(takes(its?.[name], value), name);
  }
});

test("if only some roles use a value, names these roles at the beginning of its description", () => {
  for (const [value, its] of Object.entries(usedBy)) {
    const { description = "" } = schema.properties?.[value] ?? {};
    assert.ok(description.toLowerCase().startsWith(`${named(its)}: `.toLowerCase()), description);
  }
});

test("requires the values that templates need, so that the schema refuses null before a template fails", () => {
  const groups = Object.entries(schema.properties ?? {}).filter(
    ([, { properties }]) => properties !== undefined,
  );
  for (const [name] of groups)
    assert.equal(schema.required?.includes(name), name !== "flags" && name !== "policy", name);
  // A rule without resourceNames would grant every Secret.
  assert.deepEqual(schema.properties?.["fleet"]?.required, ["sources"]);
});

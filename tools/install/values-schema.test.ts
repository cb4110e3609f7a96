import assert from "node:assert/strict";
import { test } from "node:test";
import { duration } from "#contract/values.ts";
import { valuesSchema } from "./values-schema.ts";
import { textOf } from "./yaml.ts";

test("a time that the chart takes is one that the plugin reads, in the hook that cannot ask back", () => {
  const schema = JSON.parse(valuesSchema()) as {
    properties: { uninstall: { properties: { timeout: { pattern: string } } } };
  };
  const pattern = new RegExp(schema.properties.uninstall.properties.timeout.pattern);
  const taken = ["4m", "90s", "2h", "999999h"];
  for (const text of [...taken, "1m30s", "0s", "05m", "4", "m", "", "1000000s", "1d"]) {
    assert.equal(pattern.test(text), taken.includes(text), text);
    if (taken.includes(text)) assert.equal(typeof duration(text), "number", text);
  }
});

test("allows what Helm adds to the values of a dependency, and no other unknown value", () => {
  const { properties, additionalProperties } = JSON.parse(valuesSchema()) as {
    properties: Readonly<Record<string, { type: string }>>;
    additionalProperties: boolean;
  };
  assert.equal(properties["global"]?.type, "object");
  assert.equal(properties["enabled"]?.type, "boolean");
  assert.equal(additionalProperties, false);
});

test("the notes do not wait for Ready, which may be True for the version before", () => {
  const notes = textOf("chart/templates/NOTES.txt");
  assert.doesNotMatch(notes, /condition=Ready/);
  assert.match(notes, /kubectl pull-secret wait/);
});

test("prefixes each named template, because a parent chart may have one of the same name", () => {
  const names = [...textOf("chart/templates/_helpers.tpl").matchAll(/define "([^"]+)"/g)];
  assert.ok(names.length > 0);
  for (const [, name = ""] of names) assert.match(name, /^global-pull-secret\./);
});

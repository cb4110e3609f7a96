import assert from "node:assert/strict";
import { test } from "node:test";
import { duration } from "#contract/values.ts";
import { valuesSchema } from "./values-schema.ts";

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

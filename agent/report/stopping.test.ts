import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const importsOf = (file: string) => {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  return [...text.matchAll(/^import (?:[^"]* from )?"([^"]+)"/gm)].map(([, path]) => path);
};

test("handles signals before any other file of the agent is loaded", () => {
  assert.equal(importsOf("../main.ts")[0], "./report/stopping.ts");
  assert.deepEqual(importsOf("./stopping.ts"), []);
});

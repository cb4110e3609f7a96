import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

test("what a test chooses at random comes of a seed that it prints and that can be given back", () => {
  const files = globSync(["**/*.{test,fixture}.ts", "{test,bench}/**/*.ts"], {
    exclude: ["node_modules/**"],
  });
  const sources = files.map((file) => [file, readFileSync(file, "utf8")] as const);
  const unseeded = sources.filter(([, text]) => /\bMath\.random\b|\brandomInt\b/.test(text));
  assert.deepEqual(
    unseeded.map(([file]) => file),
    [],
  );
  const reading = sources.filter(([, text]) => /env\["(?:\w+_)?SEED"\]/.test(text));
  assert.ok(reading.some(([file]) => file === "test/random.ts"));
  for (const [file, text] of reading) assert.match(text, /SEED=\$\{/, file);
});

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";

test("draws random values in tests only from a seed that is printed and can be set", () => {
  const files = globSync(["**/*.{test,fixture}.ts", "{test,bench}/**/*.ts"], {
    exclude: ["node_modules/**"],
  });
  const sources = files.map((file) => [file, readFileSync(file, "utf8")] as const);
  // Bytes of randomBytes are passwords and names here, therefore their values do not matter.
  const drawn = /\bMath\.random\b|\brandomInt\b|^(?!.*\bSEED\b).*\bDate\.now\(\) %/m;
  const unseeded = sources.filter(([, text]) => drawn.test(text));
  assert.deepEqual(
    unseeded.map(([file]) => file),
    [],
  );
  const reading = sources.filter(([, text]) => /env\["(?:\w+_)?SEED"\]/.test(text));
  assert.ok(reading.some(([file]) => file === "test/random.ts"));
  for (const [file, text] of reading) assert.match(text, /SEED=\$\{/, file);
});

test("generates random lists and texts up to the maximum length of a property test", () => {
  // tools/build/laws.ts sets the lengths. The runner loads that file before the tests.
  const lengths = (arbitrary: fc.Arbitrary<string | readonly unknown[]>) =>
    fc.sample(arbitrary, { numRuns: 500, seed: 1 }).map(({ length }) => length);
  assert.ok(Math.max(...lengths(fc.array(fc.boolean(), { maxLength: 60 }))) > 40);
  assert.ok(Math.max(...lengths(fc.stringMatching(/^[a-z]{1,63}$/))) > 40);
});

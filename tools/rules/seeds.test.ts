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

/** The longest that fast-check makes of what has no size, whatever its maxLength says. */
const longest = 10;

test("a law that names a length of more than ten is played at that length", () => {
  const files = globSync("**/*.{test,fixture}.ts", { exclude: ["node_modules/**"] });
  const short = files.flatMap((file) => {
    const whole = readFileSync(file, "utf8");
    if (!whole.includes('from "fast-check"')) return [];
    // What must have one length has it, whatever the size.
    const text = whole.replaceAll(/minLength: (\d+), maxLength: \1\b/g, "");
    const lengths = [...text.matchAll(/maxLength: (\d+)\b(?!,\s*size: "max")/g)];
    const named = lengths.map(([, length]) => Number(length)).filter((length) => length > longest);
    return named.map((length) => `${file}: ${length}`);
  });
  assert.deepEqual(short, []);
});

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

/** The longest that fast-check makes of what has no size, whatever the most is that it may have. */
const longest = (least: number) => 2 * least + 10;

/** Lengths that are named in a source, and that nothing which is made ever has. */
function unreached(source: string): readonly string[] {
  const found: string[] = [];
  let text = source
    .replaceAll(/\/\*[^]*?\*\/|^ *\/\/.*$/gm, "")
    .replaceAll(/"[^"\n]*"|'[^'\n]*'/g, (words) => (/[{}]/.test(words) ? '""' : words))
    .replaceAll(/stringMatching\(\s*\/(.*?)\/\w*,?\s*\)/g, (_, pattern: string) => {
      for (const [count, least, most] of pattern.matchAll(/\{(\d+),(\d+)\}/g))
        if (Number(most) > longest(Number(least))) found.push(count);
      return "";
    });
  // Object by object, the inner ones first.
  const objects = /\{[^{}]*\}/g;
  while (text.search(objects) !== -1)
    text = text.replaceAll(objects, (options) => {
      if (!/\bsize: "max"/.test(options)) found.push(...beyond(options));
      return "";
    });
  return found;
}

/** Those of one object. */
function beyond(options: string): readonly string[] {
  const [, least = "0"] = /\bmin(?:Length|Keys): (\w+)/.exec(options) ?? [];
  return Array.from(
    options.matchAll(/\b(max(?:Length|Keys))(?:: ([^,}]+))?(?=[\s,}])/g),
    ([all, , most = "?"]) =>
      most.trim() === least || Number(most) <= longest(Number(least)) ? "" : all.trim(),
  ).filter((named) => named !== "");
}

const examples: readonly (readonly [source: string, ...unreached: readonly string[]])[] = [
  ["fc.array(one, { maxLength: 10 })"],
  ["fc.array(one, { maxLength: 11 })", "maxLength: 11"],
  ['fc.array(one, { maxLength: 11, size: "max" })'],
  ['fc.array(one, { size: "max", maxLength: 11 })'],
  ["fc.array(one, { minLength: 5, maxLength: 20 })"],
  ["fc.array(one, { minLength: 5, maxLength: 21 })", "maxLength: 21"],
  ["fc.array(one, { minLength: 12, maxLength: 12 })"],
  ["fc.array(one, { minLength: most, maxLength: most })"],
  ["fc.array(one, { maxLength: most })", "maxLength: most"],
  ["fc.array(one, { maxLength: 2 * most })", "maxLength: 2 * most"],
  ["fc.array(one, { maxLength })", "maxLength"],
  ['fc.array(one, { maxLength, size: "max" })'],
  ["fc.dictionary(key, one, { maxKeys: 10 })"],
  ["fc.dictionary(key, one, {\n  maxKeys: 11,\n})", "maxKeys: 11"],
  ["fc.dictionary(key, one, { maxKeys: limits.keys })", "maxKeys: limits.keys"],
  ["const few = { maxLength: 60 };\nfc.array(one, few)", "maxLength: 60"],
  ['fc.array(fc.string({ maxLength: 30 }), { maxLength: 9, size: "max" })', "maxLength: 30"],
  ['fc.array(fc.string({ maxLength: 30, size: "max" }), { maxLength: 40 })', "maxLength: 40"],
  ['fc.f(fc.string({ maxLength: 9, size: "max" }), { maxLength: 40, a: "b" })', "maxLength: 40"],
  ["fc.uniqueArray(one, { selector: ({ name }) => name, maxLength: 11 })", "maxLength: 11"],
  ['fc.array(fc.constantFrom("{", "}}"), { maxLength: 11 })', "maxLength: 11"],
  ["// A maxLength of { maxLength: 30 } would be cut.\n/** { maxKeys: 30 } */"],
  ["fc.stringMatching(/^[a-z]{1,12}$/)"],
  ["fc.stringMatching(/^[a-z]{1,13}$/)", "{1,13}"],
  ['fc.stringMatching(/^[a-z]{1,13}$/, { size: "max" })'],
];

test("a length that nothing would have is found in what names it, and no other is", () => {
  for (const [source, ...expected] of examples)
    assert.deepEqual(unreached(source), expected, source);
});

test("a law that names a length is played at that length", () => {
  const files = globSync("**/*.{test,fixture}.ts", { exclude: ["node_modules/**"] });
  const short = files.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    if (!/^import .*"fast-check";$/m.test(text)) return [];
    return unreached(text).map((length) => `${file}: ${length}`);
  });
  assert.deepEqual(short, []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../commands.ts";
import { complete } from "./complete.ts";

/**
 * The words that completion offers after a line, without the words' purposes, and whether it offers
 * files.
 */
function offered(line: string): readonly [words: string[], files: boolean] {
  const lines = complete(commands, line.split(" ")).trimEnd().split("\n");
  const last = lines.pop();
  return [lines.map((row) => row.split("\t")[0] ?? ""), last === ":0"];
}

const cases: readonly (readonly [line: string, words: string[], files?: true])[] = [
  ["wa", ["wait"]],
  ["stat", ["status"]],
  ["nothing-such", []],
  ["nothing-such --k", []],
  ["__proto__ --k", []],
  ["help re", ["remove", "resume", "retry"]],
  ["help remove ", []],
  ["--context east wa", ["wait"]],
  ["--context ", []],
  ["--context east wait --con", []],
  [
    "--context=me fleet ",
    ["status", "list", "join", "remove", "apply", "delete", "rbac", "tenant", "release"],
  ],
  ["wait --ti", ["--timeout"]],
  ["wait --timeout 5m --ti", []],
  ["wait --timeout=5m --ti", []],
  ["wait --timeout ", []],
  ["status -o ", ["text", "json", "yaml"]],
  ["status --output j", ["json"]],
  ["nodes --waiting --ou", ["--output"]],
  ["completion ", []],
  ["fleet rbac --t", ["--target"]],
  ["fle", ["fleet"]],
  ["fleet ", ["status", "list", "join", "remove", "apply", "delete", "rbac", "tenant", "release"]],
  ["fleet nothing-such --k", []],
  ["help fleet j", ["join"]],
  ["help fleet join ", []],
  ["check -f ", [], true],
  ["check --file a", [], true],
  ["check ", [], true],
  ["check a.json ", []],
  ["check --login ", [], true],
  ["merge --protect a --prot", ["--protect"]],
  ["explain --file a.json ", []],
  ["merge --conflicts ", ["additional", "original"]],
];
for (const [line, words, files = false] of cases)
  test(`offers ${[...words, ...(files ? ["a file"] : [])].join(", ") || "nothing"} after \`${line}\``, () =>
    assert.deepEqual(offered(line), [words, files]));

test("offers every command with its purpose, and each flag with its purpose", () => {
  const all = complete(commands, [""]);
  for (const [name, { what, flags }] of Object.entries(commands)) {
    const words = name.split(" ");
    const offered = words.length === 1 ? all : complete(commands, [...words.slice(0, -1), ""]);
    assert.ok(offered.includes(`${words.at(-1)}\t${what}\n`), name);
    const own = complete(commands, [...words, "--"]);
    for (const [flag, row] of Object.entries(flags))
      if (row.from === undefined) assert.ok(own.includes(`--${flag}\t${row.what}\n`), flag);
  }
});

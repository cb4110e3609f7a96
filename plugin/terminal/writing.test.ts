import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { character } from "#pullsecret/arbitrary.fixture.ts";
import { escape } from "#pullsecret/problems/keypath.ts";
import { errTo } from "./io.ts";

/** The text that is written for this line. */
function written(line: string): string {
  let text = "";
  errTo((part) => void (text += part))(line);
  return text;
}

test("escapes control characters, which could erase or add lines, or fill the clipboard", () => {
  assert.equal(
    written("east: 500 \u001b[2K\u001b]52;c;cm0gLXJm\u0007\nnodes: all is well"),
    "east: 500 \\u{1b}[2K\\u{1b}]52;c;cm0gLXJm\\u{7}\\u{a}nodes: all is well\n",
  );
});

test("does not escape text that is already escaped", () => {
  const texts = fc.string({ unit: character });
  fc.assert(fc.property(texts, (text) => assert.equal(written(escape(text)), written(text))));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { print, type Format } from "./output.ts";

/**
 * Prints a text with escape sequences that would clear the screen and turn the remaining text
 * green.
 */
async function printed(format: Format): Promise<string> {
  let out = "";
  const io = {
    out: (text: string) => void (out += text),
    yaml: (value: unknown) => Promise.resolve(`yaml ${JSON.stringify(value)}\n`),
  };
  const value = { message: "\u001b[2J\u001b[32mall is well\nReady" };
  await print(format, value, ({ message }) => ["first", message], io);
  return out;
}

test("escapes text of other programs that could fool a terminal", async () => {
  assert.equal(await printed("text"), "first\n\\u{1b}[2J\\u{1b}[32mall is well\\u{a}Ready\n");
});

test("prints the value unchanged for programs", async () => {
  const { message } = JSON.parse(await printed("json")) as { message: string };
  assert.equal(message, "\u001b[2J\u001b[32mall is well\nReady");
  assert.match(await printed("yaml"), /^yaml \{"message":/);
});

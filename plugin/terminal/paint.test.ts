import assert from "node:assert/strict";
import { test } from "node:test";
import { hasColour, paintFor } from "./paint.ts";

test("uses colours only if they are allowed", () => {
  const painted = (colour: boolean) => Object.values(paintFor(colour)).map((ink) => ink("x"));
  assert.deepEqual(painted(false), Array<string>(5).fill("x"));
  assert.deepEqual(
    painted(true),
    [32, 33, 31, 2, 1].map((code) => `\u001b[${code}mx\u001b[0m`),
  );
});

test("detects colours from the stream, TERM and NO_COLOR", () => {
  const tty = { isTTY: true };
  assert.equal(hasColour(tty, { TERM: "xterm" }), true);
  assert.equal(hasColour(tty, { NO_COLOR: "1" }), false);
  assert.equal(hasColour(tty, { TERM: "dumb" }), false);
  assert.equal(hasColour({}, { TERM: "xterm" }), false);
});

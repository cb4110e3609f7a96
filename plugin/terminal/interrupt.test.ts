import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { interruptOf } from "./io.ts";

test("creates only one signal and one listener, even if code requests the signal many times", () => {
  const source = new EventEmitter();
  const signal = interruptOf(source);
  const all = Array.from({ length: 20 }, () => signal());
  assert.deepEqual([new Set(all).size, source.listenerCount("SIGINT")], [1, 1]);
  source.emit("SIGINT");
  assert.equal(signal().aborted, true);
});

test("does not catch the second interrupt, which then ends the process", () => {
  const source = new EventEmitter();
  const signal = interruptOf(source);
  assert.equal(source.listenerCount("SIGINT"), 0);
  signal();
  source.emit("SIGINT");
  signal();
  assert.equal(source.listenerCount("SIGINT"), 0);
});

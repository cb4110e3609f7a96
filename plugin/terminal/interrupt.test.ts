import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { interruptOf } from "./interrupt.ts";

test("creates one signal and one listener, however often it is requested", () => {
  const source = new EventEmitter();
  const signal = interruptOf(source);
  const all = Array.from({ length: 20 }, () => signal());
  assert.deepEqual([new Set(all).size, source.listenerCount("SIGINT")], [1, 1]);
  source.emit("SIGINT");
  assert.equal(signal().aborted, true);
});

test("ends at the first interrupt without a request for the signal, and at the second with one", () => {
  const source = new EventEmitter();
  const signal = interruptOf(source);
  assert.equal(source.listenerCount("SIGINT"), 0);
  signal();
  source.emit("SIGINT");
  signal();
  assert.equal(source.listenerCount("SIGINT"), 0);
});

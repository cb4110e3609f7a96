/** Watches of a server that sends anything, in any chunks. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Connection } from "./connection.ts";
import { follow } from "./stream.ts";
import { dripping, lines } from "./stream.fixture.ts";

test("reads the same lines however the server cuts them", async () => {
  const text = '{"a":"ä"}\n\n{"b":2}\n{"half';
  for (const size of [1, 2, 3, 7, 100]) {
    const bytes = Buffer.from(text);
    const count = Math.ceil(bytes.length / size);
    const chunks = Array.from({ length: count }, (_, n) =>
      bytes.subarray(n * size, n * size + size),
    );
    assert.deepEqual((await lines(chunks)).found, ['{"a":"ä"}', "", '{"b":2}']);
  }
});

test("at the first byte beyond the limit, stops reading a line that comes byte by byte", async () => {
  const largest = 16 * 1024;
  const { drips, taken } = dripping();
  const { error } = await lines(drips, { largest });
  assert.match(error?.message ?? "", /a line of the watch is larger than 16384 bytes/);
  assert.equal(taken(), largest + 1);
});

test("stops reading a line or a refusal with more values than allowed", async () => {
  const few = "[0,0,0]\n";
  const many = "[0,0,0,0]\n";
  const { found: received, error } = await lines([few, few, many], { mostValues: 3 });
  assert.deepEqual(received, ["[0,0,0]", "[0,0,0]"]);
  assert.match(error?.message ?? "", /a line of the watch has more than 3 values$/);
  const refusal = await lines([many], { status: 500, mostValues: 3 });
  assert.match(refusal.error?.message ?? "", /the answer has more than 3 values$/);
});

test("stops reading an endless refusal at the limit", async () => {
  const chunk = Buffer.alloc(64 * 1024, "x");
  let taken = 0;
  function* endless() {
    for (;;) {
      taken += 1;
      yield chunk;
    }
  }
  const { error, ended } = await lines(endless(), { status: 500 });
  assert.match(error?.message ?? "", /the answer is larger than 1048576 bytes/);
  assert.ok(taken <= 17 && ended, `${taken} chunks of 64 KiB`);
});

test("ends the watch when the listener throws, and passes on its error unchanged", async () => {
  const mine = new Error("mine");
  const {
    found: receivedLines,
    error,
    ended,
  } = await lines(["1\n2\n3\n"], {
    received: (line) => {
      if (line === "2") throw mine;
    },
  });
  assert.deepEqual([receivedLines, error, ended], [["1"], mine, true]);
});

test("ends a watch 90 s after its last byte, and not before", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [chunk, end] = [Promise.withResolvers<Buffer>(), Promise.withResolvers<never>()];
  async function* stream() {
    yield await chunk.promise;
    yield await end.promise;
  }
  const connection = {
    largest: 100,
    async send(_: object, signal: AbortSignal) {
      signal.addEventListener("abort", () => end.reject(new Error("aborted")));
      return { httpStatusCode: 200, headers: {}, body: { stream } };
    },
  } as unknown as Connection;
  const received: string[] = [];
  const never = new AbortController().signal;
  const watched = { path: "/api/v1/secrets", query: {} };
  void follow(connection, watched, never, (line) => void received.push(line)).catch(
    (error: Error) => void received.push(error.message),
  );
  t.mock.timers.tick(60_000);
  chunk.resolve(Buffer.from("1\n"));
  await setImmediate();
  t.mock.timers.tick(89_999);
  await setImmediate();
  assert.deepEqual(received, ["1"]);
  t.mock.timers.tick(1);
  await setImmediate();
  assert.match(received[1] ?? "", /no answer Unreachable/);
});

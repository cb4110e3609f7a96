/** Watches of a server that sends what it likes, as it likes. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import type { ResponseContext } from "@kubernetes/client-node";
import type { Connection } from "./connection.ts";
import { follow } from "./stream.ts";

const mebibyte = 1024 * 1024;

/** The lines of an answer in these chunks, and whether its rest was given up. */
async function lines(
  chunks: Iterable<string | Uint8Array>,
  httpStatusCode = 200,
  heard: (line: string) => void = () => {},
) {
  const found: string[] = [];
  let ended = false;
  async function* stream() {
    try {
      for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    } finally {
      ended = true;
    }
  }
  const response = { httpStatusCode, headers: {}, body: { stream } } as unknown as ResponseContext;
  const connection = {
    largest: mebibyte,
    send: () => Promise.resolve(response),
  } as unknown as Connection;
  const never = new AbortController().signal;
  const watched = { path: "/api/v1/secrets", query: {} };
  const error = await follow(connection, watched, never, (line) => {
    heard(line);
    found.push(line);
  }).then(
    () => undefined,
    (reason: Error) => reason,
  );
  return { found, error, ended };
}

test("lines are the same however the server cuts them", async () => {
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

test("a line that comes byte by byte costs no more than its bytes, and no byte beyond the limit is taken", async () => {
  const byte = Buffer.from("x");
  let taken = 0;
  function* drips() {
    for (;;) {
      taken += 1;
      yield byte;
    }
  }
  const before = process.cpuUsage();
  const { error } = await lines(drips());
  const { user, system } = process.cpuUsage(before);
  assert.match(error?.message ?? "", /a line of the watch is larger than 1048576 bytes/);
  assert.equal(taken, mebibyte + 1);
  // To copy the line at each byte takes hours; this took up to 16 s of a processor that others use.
  assert.ok(user + system < 120_000_000, `${user + system} µs`);
});

test("a refusal without an end is given up at the limit", async () => {
  const chunk = Buffer.alloc(64 * 1024, "x");
  let taken = 0;
  function* endless() {
    for (;;) {
      taken += 1;
      yield chunk;
    }
  }
  const { error, ended } = await lines(endless(), 500);
  assert.match(error?.message ?? "", /the answer is larger than 1048576 bytes/);
  assert.ok(taken <= 17 && ended, `${taken} chunks of 64 KiB`);
});

test("what the listener throws ends the watch, and is thrown as it is", async () => {
  const mine = new Error("mine");
  const { found, error, ended } = await lines(["1\n2\n3\n"], 200, (line) => {
    if (line === "2") throw mine;
  });
  assert.deepEqual([found, error, ended], [["1"], mine, true]);
});

/** Slow: a mebibyte, byte by byte, takes ten seconds of CPU time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dripping, lines, mebibyte } from "./stream.fixture.ts";

test("reads a line that comes byte by byte in linear time", async () => {
  const { drips, taken } = dripping();
  const before = process.cpuUsage();
  const { error } = await lines(drips);
  const { user, system } = process.cpuUsage(before);
  assert.match(error?.message ?? "", /a line of the watch is larger than 1048576 bytes/);
  assert.equal(taken(), mebibyte + 1);
  // Copying the line at each byte would take hours. This test took up to 16 s on a shared CPU.
  assert.ok(user + system < 120_000_000, `${user + system} µs`);
});

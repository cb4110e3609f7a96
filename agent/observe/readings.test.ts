import assert from "node:assert/strict";
import test from "node:test";
import { Cached } from "./readings.ts";

function cache() {
  const clock = { now: 0 };
  const cached = new Cached<{ read: number }>(() => clock.now);
  let reads = 0;
  const read = async (identity: string | undefined) => {
    const { read } = await cached.read(identity, () => ({ read: (reads += 1) }));
    return read;
  };
  return { cached, clock, read };
}

test("reads a file again until it has been unchanged for 10 s, and then caches it", async () => {
  const { clock, read } = cache();
  const seen: number[] = [];
  for (clock.now = 0; clock.now <= 30_000; clock.now += 2500) seen.push(await read("a"));
  assert.deepEqual(seen, [1, 2, 3, 4, 5, ...Array.from({ length: 8 }, () => 5)]);
});

test("reads a file again when its identity changes, also back to an earlier identity", async () => {
  const { clock, read } = cache();
  await read("a");
  clock.now = 10_000;
  assert.deepEqual(
    [await read("a"), await read("a"), await read("b"), await read("b"), await read("a")],
    [2, 2, 3, 4, 5],
  );
});

test("never caches a file without an identity, because a changed file would not be noticed", async () => {
  const { clock, read } = cache();
  const seen: number[] = [];
  for (clock.now = 0; clock.now <= 30_000; clock.now += 10_000) seen.push(await read(undefined));
  assert.deepEqual(seen, [1, 2, 3, 4]);
});

test("reads a file once more after its cached content was freed", async () => {
  const { cached, clock, read } = cache();
  await read("a");
  clock.now = 10_000;
  assert.deepEqual(
    [await read("a"), (cached.forget(), await read("a")), await read("a")],
    [2, 3, 3],
  );
});

test("caches nothing when reading fails", async () => {
  const { cached, clock, read } = cache();
  await read("a");
  clock.now = 10_000;
  await assert.rejects(
    cached.read("a", () => Promise.reject(new Error("EIO"))),
    /EIO/,
  );
  assert.equal(await read("a"), 2);
});

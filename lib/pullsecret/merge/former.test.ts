import assert from "node:assert/strict";
import test from "node:test";
import { isFormer, nextFormer, readFormer } from "./former.ts";

const value = (key: string, auth: string) => ({ key, entry: JSON.stringify({ auth }) });
const none = { left: [], present: [], salt: "salt" };
const left = (key: string, auth: string) => ({ ...none, left: [value(key, auth)] });

test("recognises a value that has left, in any spelling of its registry", () => {
  const former = readFormer(nextFormer("", left("docker.io", "x")));
  for (const key of ["docker.io", "https://index.docker.io/v1/"])
    assert.ok(isFormer(former, value(key, "x")), key);
  for (const [key, auth] of [
    ["quay.io", "x"],
    ["docker.io", "y"],
  ] as const)
    assert.ok(!isFormer(former, value(key, auth)), key);
});

test("forgets a value that is published again", () => {
  const text = nextFormer("", left("a.io", "x"));
  const again = nextFormer(text, { ...none, present: [value("https://a.io", "x")] });
  assert.ok(!isFormer(readFormer(again), value("a.io", "x")));
});

test("keeps its salt, and reveals no value", () => {
  const first = nextFormer("", left("a.io", "x"));
  const second = nextFormer(first, { ...left("a.io", "y"), salt: "other" });
  assert.ok(second.startsWith("salt\n"));
  assert.doesNotMatch(second, /a\.io|auth/);
  assert.notEqual(
    nextFormer("", { ...left("a.io", "x"), salt: "other" }).split("\n")[1],
    first.split("\n")[1],
  );
});

test("keeps the 1,000 values that have left last, in at most 24 kB", () => {
  const values = Array.from({ length: 1500 }, (_, number) => value("a.io", String(number)));
  const text = nextFormer("", { ...none, left: [...values, ...values.slice(0, 1)] });
  const former = readFormer(text);
  assert.deepEqual(
    [0, 499, 500, 501, 1499].map((number) => isFormer(former, values[number] ?? value("", ""))),
    [true, false, false, true, true],
  );
  assert.ok(text.length < 24_000);
});

test("knows nothing from an empty key", () => {
  assert.ok(!isFormer(readFormer(""), value("a.io", "x")));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { anHour } from "./hour.ts";

test("H18: if the kubelet starts only with its old file, makes one restart, lets systemd try again, and leaves the kubelet running with its old file", async () => {
  const { calls, down } = await anHour("with the file");
  assert.deepEqual({ calls, down }, { calls: 1, down: 0 });
});

test("H18: if the kubelet never starts again, makes at most four restarts in the first hour", async () => {
  const { calls, down, downSeconds } = await anHour("always");
  assert.equal(down, 1);
  assert.ok(downSeconds > 3500, `${downSeconds} s without a kubelet`);
  assert.ok(calls <= 4, `${calls} calls`);
});

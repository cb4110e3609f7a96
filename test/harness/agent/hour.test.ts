import assert from "node:assert/strict";
import { test } from "node:test";
import { anHour } from "./hour.ts";

test("H18: makes four restarts in an hour and leaves the kubelet running if the kubelet starts only with its old file", async () => {
  const { calls, down } = await anHour("with the file");
  assert.deepEqual({ calls, down }, { calls: 4, down: 0 });
});

test("H18: makes at most four restarts in the first hour if the kubelet never starts again", async () => {
  const { calls, down, downSeconds } = await anHour("always");
  assert.equal(down, 1);
  assert.ok(downSeconds > 3500, `${downSeconds} s without a kubelet`);
  assert.ok(calls <= 4, `${calls} calls`);
});

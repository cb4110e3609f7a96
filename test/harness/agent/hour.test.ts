import assert from "node:assert/strict";
import { test } from "node:test";
import { anHour } from "./hour.ts";

test("H18: restarts a kubelet that starts with its old file four times in an hour, and it runs", async () => {
  const { calls, down } = await anHour("with the file");
  assert.deepEqual({ calls, down }, { calls: 4, down: 0 });
});

test("H18: restarts a kubelet that never starts again four times in its first hour at most", async () => {
  const { calls, down, downSeconds } = await anHour("always");
  assert.equal(down, 1);
  assert.ok(downSeconds > 3500, `${downSeconds} s without a kubelet`);
  assert.ok(calls <= 4, `${calls} calls`);
});

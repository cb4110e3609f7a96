/** A real node loses its power while the restart of its kubelet is owed. */
import assert from "node:assert/strict";
import test from "node:test";
import { until } from "../cluster/await.ts";
import { duringRestart } from "./machine.ts";
import { ours } from "./place.ts";

test("requests no restart after a boot in the middle of the change, because the kubelet has started with the new file", async () => {
  const { inside, revision } = await duringRestart();
  await inside.machine.reboot();
  await until("the kubelet runs", async () => (await inside.kubelet()).ActiveState === "active");
  const booted = await inside.kubelet();
  await inside.start(revision);
  await inside.proves(60_000);
  assert.equal((await inside.kubelet()).InvocationID, booted.InvocationID);
  assert.equal(inside.node.file, ours);
});

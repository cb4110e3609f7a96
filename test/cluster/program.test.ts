import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "./await.ts";
import { startProgram } from "./program.ts";

test("a program has ended when its last words have been read, and not before", async () => {
  // The words come when the process is gone: that they are late is made sure of here, and happens
  // to any program on a busy machine.
  const program = startProgram(["sh", "-c", "(sleep 0.3; echo last words) & echo begun; exit 3"]);
  assert.equal(await until("it ends", program.exited, { every: 1 }), 3);
  assert.equal(program.output(), "begun\nlast words\n");
});

test("stop and kill answer when it has ended, also one that had ended before", async () => {
  const program = startProgram([
    "sh",
    "-c",
    "trap 'kill $!; echo told to; exit 4' TERM; sleep 9 & echo up; wait",
  ]);
  await until("it is up", () => program.output().includes("up"));
  assert.equal(await program.stop(), 4);
  assert.equal(await program.kill(), 4);
  assert.equal(program.output(), "up\ntold to\n");
  const killed = startProgram(["sleep", "9"], { A: "b" });
  assert.equal(killed.exited(), undefined);
  assert.equal(await killed.kill(), 128);
  assert.equal(killed.exited(), 128);
});

test("a character that comes in two pieces is read as one", async () => {
  const program = startProgram(["sh", "-c", "printf 'p\\303'; sleep 0.2; printf '\\244sswort'"]);
  await until("it ends", program.exited, { every: 1 });
  assert.equal(program.output(), "p\u00e4sswort");
});

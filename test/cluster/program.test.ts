import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "./await.ts";
import { keepRunning, startProgram } from "./program.ts";

test("counts a program as ended only after its last output was read", async () => {
  // This script prints its last line after its main process is gone. On a busy machine the output
  // of any program can arrive this late.
  const program = startProgram(["sh", "-c", "(sleep 0.3; echo last line) & echo begun; exit 3"]);
  assert.equal(await until("the program ends", program.exited, { every: 1 }), 3);
  assert.equal(program.output(), "begun\nlast line\n");
});

test("stop() and kill() resolve once the program has ended, even if it ended before the call", async () => {
  const program = startProgram([
    "sh",
    "-c",
    "trap 'kill $!; echo stopped; exit 4' TERM; sleep 9 & echo up; wait",
  ]);
  await until("the program is up", () => program.output().includes("up"));
  assert.equal(await program.stop(), 4);
  assert.equal(await program.kill(), 4);
  assert.equal(program.output(), "up\nstopped\n");
  const killed = startProgram(["sleep", "9"], { A: "b" });
  assert.equal(killed.exited(), undefined);
  assert.equal(await killed.kill(), 128);
  assert.equal(killed.exited(), 128);
});

test("decodes a character correctly when its bytes arrive in two pieces", async () => {
  const program = startProgram(["sh", "-c", "printf 'p\\303'; sleep 0.2; printf '\\244sswort'"]);
  await until("the program ends", program.exited, { every: 1 });
  assert.equal(program.output(), "p\u00e4sswort");
});

test("starts a program again only after an expected end", async () => {
  let starts = 0;
  const script = () => `echo start ${(starts += 1)}; [ ${starts} -lt 3 ] && exit 1; sleep 9`;
  const program = keepRunning(
    () => startProgram(["sh", "-c", script()]),
    (output) => /start [12]/.test(output),
  );
  await until("the third runs", () => program.output().endsWith("start 3\n"));
  assert.equal(program.output(), "start 1\nstart 2\nstart 3\n");
  assert.equal(program.exited(), undefined);
  assert.equal(await program.kill(), 128);
  assert.equal(starts, 3);
  const other = keepRunning(
    () => startProgram(["sh", "-c", "echo no; exit 1"]),
    (output) => output === "yes\n",
  );
  assert.equal(await until("the program ends", other.exited), 1);
});

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { refuse, resync, type Step, wait } from "../facts/step.ts";
import { Word } from "./word.ts";

const released: Step = { action: "nothing", code: "GPS224", ready: true, again: resync };
const refusal = refuse("GPS206", 30_000, "it is a symbolic link");

function place(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "gps-word-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const clock = { now: 0 };
  return {
    directory,
    clock,
    start: (revision = 7) => new Word(directory, revision, () => clock.now),
  };
}

/** `exit 3 GPS206`, or what the step is. */
function shown(step: Step): string {
  return step.action === "end" ? `exit ${step.exit} ${step.code}` : `${step.action} ${step.code}`;
}

test("a node that is given back is said once in a pod's life, before it is Ready, and then the pod stays", (t) => {
  const { start } = place(t);
  const first = start();
  const step = first.instead(released);
  assert.deepEqual([shown(step), step.ready], ["exit 0 GPS224", false]);
  assert.equal(
    shown(start().instead(released)),
    "exit 0 GPS224",
    "killed before the mark, it is said again",
  );
  first.mark(0);
  assert.deepEqual(start().instead(released), released);
});

test("revision 0 has nothing to give back, and who waits to be Ready has not given back yet", (t) => {
  const { start } = place(t);
  assert.deepEqual(start(0).instead(released), released);
  const notYet = { ...released, action: "leave", ready: false } as const;
  assert.deepEqual(start().instead(notYet), notYet);
});

test("a refusal that has stood for ten seconds is said once; what is mended before is not", (t) => {
  const { clock, start } = place(t);
  const word = start();
  const seconds: readonly (readonly [second: number, step: Step, shown: string])[] = [
    [0, refusal, "wait GPS206"],
    [9, refusal, "wait GPS206"],
    [9.5, wait("GPS209", 100), "wait GPS209"],
    [10, refusal, "wait GPS206"],
    [15, { ...refusal, code: "GPS211" }, "wait GPS211"],
    [19.9, refusal, "wait GPS206"],
    [20, refusal, "exit 3 GPS206"],
  ];
  for (const [second, step, expected] of seconds) {
    clock.now = second * 1000;
    assert.equal(shown(word.instead(step)), expected, `after ${second} s`);
  }
  word.mark(3);
  clock.now += 60_000;
  const next = start();
  assert.deepEqual(next.instead(refusal), refusal);
  clock.now += 60_000;
  assert.deepEqual(next.instead(refusal), refusal);
});

test("the next look comes when a refusal is due to be said, if it would come later", (t) => {
  const { clock, start } = place(t);
  const word = start();
  assert.equal(word.instead(refusal).again, 10_000);
  clock.now = 4000;
  assert.equal(word.instead(refusal).again, 6000);
  assert.equal(word.instead({ ...refusal, again: 1000 }).again, 1000);
  assert.equal(word.instead({ ...refusal, again: "back off" }).again, "back off");
});

test("a pod that refused may still say that the node is given back, and each mark is a line", (t) => {
  const { clock, directory, start } = place(t);
  const word = start();
  word.instead(refusal);
  clock.now = 10_000;
  assert.equal(shown(word.instead(refusal)), "exit 3 GPS206");
  word.mark(3);
  const next = start();
  assert.equal(shown(next.instead(released)), "exit 0 GPS224");
  next.mark(0);
  assert.equal(readFileSync(join(directory, "word"), "latin1"), "refused\nreleased\n");
});

test("where no mark can be made a refusal is tried once, and a release again and again", (t) => {
  const { clock } = place(t);
  const word = new Word("/nonexistent", 7, () => clock.now);
  word.instead(refusal);
  clock.now = 10_000;
  assert.equal(shown(word.instead(refusal)), "exit 3 GPS206");
  assert.throws(() => word.mark(3), /ENOENT/);
  assert.deepEqual(word.instead(refusal), refusal);
  assert.equal(shown(word.instead(released)), "exit 0 GPS224");
  assert.throws(() => word.mark(0), /ENOENT/);
  assert.equal(shown(word.instead(released)), "exit 0 GPS224");
});

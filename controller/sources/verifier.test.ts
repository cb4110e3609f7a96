import assert from "node:assert/strict";
import { test } from "node:test";
import { Credential } from "#pullsecret/document/auth.ts";
import { planOf, type Answers, type Question, type Verdict } from "#registry/question.ts";
import { openVerifier } from "./verifier.ts";

const said = (answer: Verdict["answer"], why = ""): Verdict => ({ answer, why, asked: true });
const plan = planOf([{ registry: "a.io", credential: new Credential("u", "p") }], []);

/** A verifier whose registries answer when the test says so. */
function start() {
  let time = 0;
  let hints = 0;
  let hinted = () => {};
  const open: Readonly<{ questions: readonly Question[]; end: (answers: Answers) => void }>[] = [];
  const verifier = openVerifier({
    hint: () => {
      hints += 1;
      hinted();
    },
    now: () => new Date(time * 1000),
    seconds: () => time,
    ask: (questions) =>
      new Promise((resolve) =>
        open.push({
          questions,
          end: (answers) => resolve(new Map(questions.map((question) => [question, answers]))),
        }),
      ),
  });
  const look = (interval = 3600) => {
    const known = verifier.look(plan, interval);
    const [login] = plan.logins;
    assert.ok(login !== undefined && "id" in login.question);
    return known(login.question)?.[0];
  };
  return {
    look,
    rounds: () => open.length,
    hints: () => hints,
    pass: (more: number) => (time += more),
    answer: (verdict: Verdict) =>
      new Promise<void>((resolve) => {
        hinted = resolve;
        open.at(-1)?.end([verdict]);
      }),
  };
}

test("asks in the background, once, and hints when the answer is there", async () => {
  const on = start();
  assert.deepEqual([on.look(), on.look(), on.rounds(), on.hints()], [undefined, undefined, 1, 0]);
  await on.answer(said("Accepted"));
  const at = "1970-01-01T00:00:00.000Z";
  assert.deepEqual(on.look(), { ...said("Accepted"), at });
  assert.deepEqual([on.rounds(), on.hints()], [1, 1]);
});

/** The longest pause between two runs, in seconds. */
const run = 360;

/** Answer → seconds after which it is not asked again, and after which it is. */
const pauses: readonly (readonly [Verdict["answer"], kept: number, due: number])[] = [
  ["Accepted", 3240, 3960],
  ["Denied", 540, 660],
  ["Unknown", 540, 660],
];
for (const [answer, kept, due] of pauses)
  test(`asks again ${due} s after ${answer}, and not within ${kept} s`, async () => {
    const on = start();
    on.look();
    await on.answer(said(answer));
    on.pass((kept - 1) % run);
    for (let passed = (kept - 1) % run; passed < kept - 1; passed += run) {
      on.look();
      on.pass(run);
    }
    on.look();
    assert.equal(on.rounds(), 1);
    on.pass((due - kept + 1) / 2);
    on.look();
    on.pass((due - kept + 1) / 2);
    const last = on.look();
    assert.deepEqual([last?.answer, last?.at !== undefined], [answer, answer !== "Unknown"]);
    assert.equal(on.rounds(), 2);
  });

test("keeps an answer when the registry gives none later, and replaces it by another answer", async () => {
  const on = start();
  on.look();
  for (const [next, expected] of [
    ["Denied", "Denied"],
    ["Unknown", "Denied"],
    ["Accepted", "Accepted"],
    ["Unknown", "Accepted"],
  ] as const) {
    await on.answer(said(next));
    for (let passed = 0; passed < 4000; passed += run) {
      assert.equal(on.look()?.answer, expected);
      on.pass(run);
    }
    on.look();
  }
});

test("asks again after ten minutes when a registry that accepted gives no answer", async () => {
  const on = start();
  const wait = (interval: number) => {
    for (const seconds of [340, 340]) {
      on.pass(seconds);
      on.look(interval);
    }
  };
  on.look();
  await on.answer(said("Accepted"));
  wait(600);
  await on.answer(said("Unknown"));
  assert.equal(on.look()?.answer, "Accepted");
  wait(3600);
  assert.equal(on.rounds(), 3);
});

test("forgets an answer that no run has used for ten minutes", async () => {
  const on = start();
  on.look();
  await on.answer(said("Accepted"));
  on.pass(601);
  assert.equal(on.look(), undefined);
});

test("applies a shorter interval at once", async () => {
  const on = start();
  on.look(7 * 24 * 3600);
  await on.answer(said("Accepted"));
  for (const seconds of [590, 590]) {
    on.pass(seconds);
    on.look(7 * 24 * 3600);
  }
  assert.equal(on.rounds(), 1);
  on.look(600);
  assert.equal(on.rounds(), 2);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { remembered } from "./course.ts";
import { noRollouts } from "./rollouts.ts";
import type { Fates } from "#controller/rollout/turn/node-state.ts";

const asked = {
  content: "c",
  intent: "apply",
  takesBack: false,
  retry: "",
  now: new Date(0),
} as const;
const content = { document: "{}", sources: "{}", intent: "apply" } as const;
const fates = ["stuck", "failed", "excused", "moving"].map((fate) => [{ name: fate }, fate]);
const outcome = {
  turn: {
    kind: "roll",
    revision: "published",
    strategy: { stage: "canary", maxUnavailable: 1 },
    reason: "",
  },
  fates: fates as unknown as Fates,
  current: content,
  revision: 2,
  target: content,
  takesBack: false,
} as const;

test("a rollout excuses nodes that are in trouble under the previous template", () => {
  const { excused } = remembered(noRollouts, asked, { ...outcome, overtaken: false });
  assert.deepEqual(excused.toSorted(), ["excused", "failed", "stuck"]);
});

test("agents that only waited for this template are not excused: their slots would go to others", () => {
  const { excused } = remembered(noRollouts, asked, { ...outcome, overtaken: true });
  assert.deepEqual(excused.toSorted(), ["excused", "failed"]);
});

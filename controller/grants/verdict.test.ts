import assert from "node:assert/strict";
import { test } from "node:test";
import { askingSeconds, rereadSeconds } from "#contract/names.ts";
import type { Mode } from "./facts.ts";
import { grantSeconds } from "./verdict.ts";

const rows: readonly (readonly [
  mode: Mode,
  word: boolean,
  registersProvider: boolean,
  probation: number,
  least: number,
  most: number,
])[] = [
  ["Restart", true, false, 5, 180, 180],
  ["Restart", false, false, 600, 4 * 600, 4 * 600 + 180],
  ["Reread", false, false, 600, 2 * rereadSeconds, 800],
  ["CredentialProvider", true, false, 5, 180, 180],
  ["CredentialProvider", false, true, 5, 180, 180],
  ["CredentialProvider", true, true, 5, askingSeconds + 160, askingSeconds + 180],
];
for (const [mode, word, registersProvider, probation, least, most] of rows)
  test(`lets a grant of mode ${mode} stay unproved as long as an agent may need: ${least} s`, () => {
    const seconds = grantSeconds(mode, { word }, { probation, registersProvider });
    assert.ok(seconds >= least && seconds <= most, String(seconds));
  });

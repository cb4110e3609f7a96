import assert from "node:assert/strict";
import test from "node:test";
import {
  crashed,
  facts,
  idle,
  renewed,
  restarting,
  starting,
  stopped,
  unanswered,
  unit,
} from "./facts.fixture.ts";
import type { Healthz, UnitFact } from "./facts.ts";
import { type ProcessState, stateOf } from "./kubelet-state.ts";

const rows: readonly (readonly [expected: ProcessState, unit: UnitFact, healthz?: Healthz])[] = [
  ["unknown", unanswered],
  ["unknown", { ...unit, load: "not-found" }],
  ["unknown", { notAsked: true }],
  ["dead", stopped],
  ["dead", { ...unit, active: "inactive", sub: "dead", mainPid: 0 }],
  ["auto-restart", crashed],
  ["auto-restart", { ...crashed, sub: "auto-restart-queued" }],
  ["old", unit],
  ["starting", { ...unit, busy: true }],
  ["starting", starting],
  ["starting", { ...renewed(), active: "deactivating" }],
  ["starting", { ...renewed(), active: "reloading", sub: "reload" }],
  ["starting", renewed(), "silent"],
  ["starting", renewed(239_000), "nobody"],
  ["starting", renewed(300_000), "silent"],
  ["up", renewed(240_000), "nobody"],
  ["up", renewed(240_000), "foreign"],
  ["up", renewed()],
];

for (const [expected, unitFact, healthz = "answers"] of rows)
  test(`calls a process ${expected}: ${JSON.stringify(unitFact).slice(0, 90)} ${healthz}`, () =>
    assert.equal(stateOf(facts({ unit: unitFact, healthz }), restarting), expected));

test("has no old process at rest", () => assert.equal(stateOf(facts({ unit }), idle), "up"));

import assert from "node:assert/strict";
import { test } from "node:test";
import { stalledBy } from "./stall-reason.ts";

const source = { ok: true, content: { type: "Opaque", data: {} }, version: "1" } as const;
const missing = { ok: false, reason: "SourceMissing", message: "GPS431" } as const;
const well = { source, halted: false, refusing: [], cut: 0 };
const refusing = Array.from("abcdefg");

const table: readonly (readonly [
  what: string,
  given: Partial<Parameters<typeof stalledBy>[0]>,
  reason: string | undefined,
  says?: RegExp,
])[] = [
  ["all is well", {}, undefined],
  ["some refuse, and that is allowed", { refusing }, undefined],
  ["too many refuse", { halted: true, refusing }, "Halted", /^GPS441: a, b, c, d, e refuse/],
  ["not all have room", { cut: 7 }, "TooManyClusters", /^GPS442: 1,000 .*: 7 are not served/],
  ["too many refuse, and not all have room", { halted: true, cut: 7 }, "Halted"],
  ["there is no source", { source: missing }, "SourceMissing", /^GPS431$/],
  ["there is no source, whatever else", { source: missing, halted: true, cut: 7 }, "SourceMissing"],
];
for (const [what, given, reason, says = /^/] of table)
  test(`${what}: ${reason ?? "not stalled"}`, () => {
    const stalled = stalledBy({ ...well, ...given });
    assert.equal(stalled?.reason, reason);
    assert.match(stalled?.message ?? "", says);
  });

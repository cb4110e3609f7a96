import assert from "node:assert/strict";
import { test } from "node:test";
import { isHeld } from "./hold.ts";

const rests = { objects: 1, whole: true, leaving: false, terminating: false };

const table: readonly (readonly [what: string, seen: typeof rests | object, held: boolean])[] = [
  ["a SyncSecret is there", {}, true],
  ["nobody may list them", { objects: undefined }, true],
  ["none is there", { objects: 0 }, false],
  ["the namespace goes, with one in it", { leaving: true, terminating: true }, true],
  ["the namespace goes, and none is left", { objects: 0, leaving: true, terminating: true }, false],
  ["the rights alone are taken away", { leaving: true }, false],
  ["one of the two is gone", { whole: false }, false],
  ["one of the two is gone with the namespace", { whole: false, terminating: true }, false],
];

for (const [what, seen, held] of table)
  test(`L3: ${what}: the rights are ${held ? "" : "not "}held`, () => {
    assert.equal(isHeld({ ...rests, ...seen }), held);
  });

import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "./nearest.ts";

const words = ["listen", "kubeconfig", "max-unavailable", "max-failures"];
const cases: readonly (readonly [word: string, meant: string | undefined])[] = [
  ["listen", "listen"],
  ["listn", "listen"],
  ["lisstenn", "listen"],
  ["kube-config", "kubeconfig"],
  ["max-failure", "max-failures"],
  ["maxunavailble", "max-unavailable"],
  ["colour", undefined],
  ["l", undefined],
  ["", undefined],
];
for (const [word, meant] of cases)
  test(`"${word}" means ${meant ?? "none of the known"}`, () =>
    assert.equal(nearest(word, words), meant));

import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "./verdict.ts";

const sealed = (fingerprint: string) => ({ fingerprint, until: "2126-01-01T00:00:00.000Z" });

/** In the index with · has a file · its certificate now → what is said of it. */
const cases = [
  ["a", true, "a", "current"],
  ["a", true, "b", "old"],
  ["a", true, undefined, "left over"],
  ["a", false, "a", "missing"],
  ["a", false, undefined, "left over"],
  [undefined, true, "a", "missing"],
  [undefined, true, undefined, "left over"],
  [undefined, false, "a", "missing"],
] as const;
for (const [known, file, present, state] of cases)
  test(`sealed with ${known ?? "nothing"}, ${file ? "a" : "no"} file, now ${present ?? "not named"}: ${state}`, () => {
    const index = {
      namespace: "kube-system",
      name: "regcred",
      scope: "strict",
      clusters: known === undefined ? {} : { east: sealed(known) },
    } as const;
    const given = present === undefined ? {} : { east: sealed(present) };
    assert.deepEqual(
      judge(index, new Set(file ? ["east"] : []), given).map((one) => one.state),
      [state],
    );
  });

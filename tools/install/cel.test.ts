import assert from "node:assert/strict";
import { test } from "node:test";
import { literal } from "./cel.ts";

const places = {
  "/KUBELET": "variables.kubelet",
  UNIT: "variables.unit",
  '{"a":1}': "variables.a",
};

for (const [value, text] of [
  ["", "''"],
  ["it's a \\", "'it\\'s a \\\\'"],
  [[0, 1], "[0, 1]"],
  [[], "[]"],
  [["a", true], "[dyn('a'), dyn(true)]"],
  [{ a: ["b"], c: ["d"] }, "{'a': ['b'], 'c': ['d']}"],
  [{ a: ["b"], c: [1] }, "{'a': dyn(['b']), 'c': dyn([1])}"],
  [[{ a: "b" }, { a: "b", c: true }], "[dyn({'a': 'b'}), dyn({'a': dyn('b'), 'c': dyn(true)})]"],
  ["/KUBELET", "variables.kubelet"],
  ["/KUBELET/a", "variables.kubelet + '/a'"],
  [{ b: { a: 1 } }, "{'b': variables.a}"],
  ["--x=/KUBELET/UNIT", "'--x=' + variables.kubelet + '/' + variables.unit"],
] as const)
  test(`writes ${JSON.stringify(value)} as ${text}`, () => {
    assert.equal(literal(value, places), text);
  });

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { character } from "../arbitrary.fixture.ts";
import { formatPath, quote } from "./keypath.ts";
import { catalogue, formatProblem, problem } from "./problems.ts";

test("uses every code once, with texts of one line", () => {
  const codes = Object.values(catalogue).map(([code]) => code);
  assert.equal(new Set(codes).size, codes.length);
  for (const [code, what, todo] of Object.values(catalogue)) {
    assert.match(code, /^GPS1[0-9]{2}$/);
    for (const text of [what, todo])
      assert.match(text, /^[^\n;]+[^\n;.]$/, "one line, without the separator");
  }
});

test("writes a line of source, key path, problem and action", () => {
  const finding = problem("notBase64", "additional", formatPath(["auths", "quay.io", "auth"]));
  assert.match(
    formatProblem(finding),
    /^additional: auths\["quay\.io"\]\.auth: not base64; give base64 of user:password/,
  );
  assert.equal(finding.code, "GPS115");
});

const quoted: readonly (readonly [key: string, shown: string])[] = [
  ["quay.io", '"quay.io"'],
  ["bücher.example", '"bücher.example"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ["a\nb\u001b[31m", '"a\\nb\\u001b[31m"'],
  ["a\u2028b\u202ec\u0085", '"a\\u{2028}b\\u{202e}c\\u{85}"'],
  ["u:p@a.io", '"[redacted]@a.io"'],
  ["https://u:p@ss/w@a.io/x", '"[redacted]@a.io/x"'],
  ["a.io?token=p", '"a.io?[redacted]"'],
  ["a.io#p", '"a.io#[redacted]"'],
  ["x".repeat(101), `"${"x".repeat(100)}…"`],
];

test("shows a key without secrets and without control characters", () => {
  for (const [key, shown] of quoted) assert.equal(quote(key), shown);
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string({ unit: character }), fc.nat(9))), (steps) => {
      const path = formatPath(steps);
      assert.ok(!/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(path), JSON.stringify(path));
      assert.ok(path.length <= Math.max(8, steps.length * 1300));
    }),
  );
});

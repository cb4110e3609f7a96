import assert from "node:assert/strict";
import { test } from "node:test";
import { challengesIn } from "./login.ts";

type Read = readonly (readonly [scheme: string, parameters: Record<string, string>])[];

const cases: readonly (readonly [header: string, read: Read])[] = [
  ["", []],
  ['Basic realm="registry"', [["basic", { realm: "registry" }]]],
  ["Basic", [["basic", {}]]],
  [
    'Bearer realm="https://auth.example/token",service="a, b",scope="repository:x:pull,push"',
    [
      [
        "bearer",
        {
          realm: "https://auth.example/token",
          service: "a, b",
          scope: "repository:x:pull,push",
        },
      ],
    ],
  ],
  [
    'BASIC Realm=one, bearer  REALM = "two \\" three" , service=s',
    [
      ["basic", { realm: "one" }],
      ["bearer", { realm: 'two " three', service: "s" }],
    ],
  ],
  ['realm="without a scheme"', []],
];
for (const [header, read] of cases)
  test(`reads ${read.map(([scheme]) => scheme).join(" and ") || "no scheme"} from \`${header}\``, () => {
    const challenges = challengesIn(header);
    assert.deepEqual(
      challenges.map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]),
      read,
    );
  });

test("reads a header of 16 KiB without backtracking, even if its parts are unfinished", () => {
  // A regular expression that backtracks would need years to read a header of this length.
  const counts = ['"', "\\", "a=", 'a="', "a ", ",=", 'a="\\'].map((piece) => [
    piece,
    challengesIn(piece.repeat(16_384 / piece.length)).length,
  ]);
  assert.deepEqual(counts, [
    ['"', 0],
    ["\\", 0],
    ["a=", 0],
    ['a="', 1],
    ["a ", 8192],
    [",=", 0],
    ['a="\\', 0],
  ]);
});

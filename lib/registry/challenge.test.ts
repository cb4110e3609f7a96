import assert from "node:assert/strict";
import { test } from "node:test";
import { challengesIn, schemesOf, tokenIn, tokenService } from "./challenge.ts";

type Read = readonly (readonly [scheme: string, parameters: Record<string, string>])[];

const headers: readonly (readonly [header: string, read: Read])[] = [
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
for (const [header, read] of headers)
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

const routes: readonly (readonly [host: string, schemes: string, isPlain?: true])[] = [
  ["quay.io", "https"],
  ["quay.io:80", "https"],
  ["plain.example", "https"],
  ["localhost:5000", "https,http"],
  ["127.0.0.1:5000", "https,http"],
  ["127.9.8.7", "https,http"],
  ["[::1]:5000", "https,http"],
  ["127.0.0.1.example", "https"],
  ["localhost.example", "https"],
  ["plain.example:5000", "http", true],
];
for (const [host, schemes, isPlain = false] of routes)
  test(`contacts ${host} over ${schemes}${isPlain ? " for a key with http://" : ""}`, () =>
    assert.equal(schemesOf(host, isPlain).join(), schemes));

const services: readonly (readonly [
  root: string,
  challenge: string,
  path: string | undefined,
  url: string | RegExp,
])[] = [
  [
    "https://a.example",
    'Bearer realm="https://auth.example/token?x=1",service="the registry"',
    "team/app",
    "https://auth.example/token?x=1&service=the+registry&scope=repository%3Ateam%2Fapp%3Apull",
  ],
  [
    "https://a.example",
    'Bearer realm="https://auth.example/token",scope="repository:inside/team/app:pull"',
    "team/app",
    "https://auth.example/token?scope=repository%3Ateam%2Fapp%3Apull&scope=repository%3Ainside%2Fteam%2Fapp%3Apull",
  ],
  [
    "https://a.example",
    'Bearer realm="https://auth.example/token?scope=all",scope="repository:user/image:pull"',
    undefined,
    "https://auth.example/token",
  ],
  [
    "https://a.example",
    'Bearer realm="https://auth.example/token",scope="repository:b:pull repository:team/app:pull"',
    "team/app",
    "https://auth.example/token?scope=repository%3Ateam%2Fapp%3Apull&scope=repository%3Ab%3Apull",
  ],
  ["https://a.example", 'Bearer service="x"', undefined, /no valid token service/],
  ["https://a.example", 'Bearer realm="file:///etc/passwd"', undefined, /no valid token service/],
  [
    "https://a.example",
    'Bearer realm="https://me@b.example/"',
    undefined,
    /no valid token service/,
  ],
  ["https://a.example", 'Bearer realm="http://a.example/token"', undefined, /without TLS/],
  ["http://a.example:5000", 'Bearer realm="http://b.example/token"', undefined, /without TLS/],
  [
    "http://a.example:5000",
    'Bearer realm="http://a.example:5001/token"',
    undefined,
    "http://a.example:5001/token",
  ],
];
for (const [root, header, path, url] of services)
  test(`requests a token for ${path ?? "a login"} of ${root} from ${header}`, () => {
    const [challenge] = challengesIn(header);
    assert.ok(challenge !== undefined);
    const service = String(tokenService(new URL(root), challenge, path));
    if (typeof url === "string") assert.equal(service, url);
    else assert.match(service, url);
  });

const bodies: readonly (readonly [body: string, token: string | undefined])[] = [
  ['{"token":"a.b-c_d=="}', "a.b-c_d=="],
  ['{"access_token":"x"}', "x"],
  ['{"token":"a","access_token":"b"}', "a"],
  ['{"token":"","access_token":"b"}', "b"],
  ['{"token":"a\\r\\nb"}', undefined],
  ['{"token":1}', undefined],
  ["[]", undefined],
  ["<html>", undefined],
];
for (const [body, token] of bodies)
  test(`reads ${token ?? "no token"} from ${body}`, () => assert.equal(tokenIn(body), token));

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  address,
  appArmorProfile,
  boundsOf,
  choicesOf,
  directory,
  duration,
  integer,
  ip,
  oneOf,
  selinuxType,
  text as textOf,
  toggle,
  unit,
  type ValueReader,
  within,
  Wrong,
} from "./values.ts";

test("limits a duration to the longest timer of Node.js: a longer timer fires at once", () => {
  assert.equal(duration("596h"), 596 * 3600);
  assert.equal(duration("600h"), 2_147_483);
});

for (const [text, seconds] of Object.entries({
  "90s": 90,
  "1h30m": 5400,
  "1h0m5s": 3605,
  "05m": 300,
}))
  test(`reads ${text} as Go does`, () => assert.equal(duration(text), seconds));

for (const text of [
  "",
  "0",
  "0s",
  "1.5h",
  "0h0m",
  "3",
  "-1s",
  "1d",
  "30m1h",
  "1m1m",
  "1h 30m",
  ".m",
  "1e3s",
  "0.5s",
])
  test(`refuses ${JSON.stringify(text)} as a duration`, () =>
    assert.ok(duration(text) instanceof Wrong));

/** For each reader: texts with their values, and texts that are refused. */
const readers: Readonly<
  Record<
    string,
    readonly [read: ValueReader<unknown>, good: Readonly<Record<string, unknown>>, bad: string[]]
  >
> = {
  text: [textOf, { "": undefined, " ": " ", a: "a" }, []],
  toggle: [toggle.read, { true: true, false: false }, ["", "True", "1", "yes"]],
  oneOf: [oneOf("a", "b"), { a: "a", b: "b" }, ["", "A", "ab"]],
  integer: [integer(2, 10), { "2": 2, "10": 10, "007": 7 }, ["1", "11", "", "-2", "2.5", "1e1"]],
  within: [within(1, 90), { "1s": 1, "1m30s": 90 }, ["0s", "91s", "", "1", "2m"]],
  unit: [
    unit,
    { auto: "auto", "a@b:c_d\\x2d.1.service": "a@b:c_d\\x2d.1.service" },
    ["", "kubelet", ".service", "a b.service", "a/b.service", "a.socket", "Auto"],
  ],
  directory: [
    directory,
    { "/a": "/a", "/a/.b/c..d": "/a/.b/c..d" },
    ["", "/", "a", "/a/", "//a", "/a//b", "/a/./b", "/..", "/a/..", "/a:b", "/a\0"],
  ],
  ip: [ip, { auto: "auto", "10.0.0.1": "10.0.0.1", "::1": "::1" }, ["", "10.0.0", "[::1]", "a"]],
  selinuxType: [
    selinuxType,
    { "": "", spc_t: "spc_t", ["a".repeat(63)]: "a".repeat(63) },
    ["Spc_t", "_t", "1t", "spc t", "a".repeat(64)],
  ],
  appArmorProfile: [
    appArmorProfile,
    {
      Unconfined: "Unconfined",
      RuntimeDefault: "RuntimeDefault",
      "Localhost/a.b": "Localhost/a.b",
    },
    ["", "unconfined", "Localhost/", "Localhost/a b", "Localhost", `Localhost/${"a".repeat(201)}`],
  ],
  address: [
    address,
    {
      ":8080": { host: "", port: 8080 },
      "a.io:0": { host: "a.io", port: 0 },
      "10.0.0.1:65535": { host: "10.0.0.1", port: 65_535 },
      "[::1]:443": { host: "::1", port: 443 },
    },
    ["", "8080", ":", "a.io", "[a.io]:443", ":65536", ":123456", "::1:443", "[::1]", ":80 ", ":-1"],
  ],
};
for (const [name, [read, good, bad]] of Object.entries(readers))
  test(`reads exactly the values of the reader ${name}`, () => {
    for (const [text, value] of Object.entries(good)) assert.deepEqual(read(text), value, text);
    for (const text of bad) assert.ok(read(text) instanceof Wrong, JSON.stringify(text));
  });

test("limits a unit's name to 255 characters", () => {
  const named = (length: number) => "a".repeat(length - ".service".length) + ".service";
  assert.equal(unit(named(255)), named(255));
  assert.ok(unit(named(256)) instanceof Wrong);
});

test("lists the choices and the bounds of a reader, for help and completion", () => {
  assert.deepEqual(choicesOf(oneOf("a", "b")), ["a", "b"]);
  assert.deepEqual(choicesOf(integer(1, 9)), []);
  assert.deepEqual(boundsOf(integer(1, 9)), { least: 1, most: 9 });
  assert.equal(boundsOf(oneOf("a")), undefined);
});

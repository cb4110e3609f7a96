import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLocation, splitPort } from "./url.ts";

/** A key, and its host and path; undefined if Go refuses the key. */
const keys: readonly (readonly [key: string, location: string | undefined])[] = [
  ["a.io/b%41", "a.io /bA"],
  ["a.io/b?q=%zz", "a.io /b"],
  ["a.io?q", "a.io "],
  ["?q", " "],
  ["#x", " "],
  ["/b", " /b"],
  ["a.io/b#%41", "a.io /b"],
  ["a.io/b#%zz", undefined],
  ["a.io/b%zz", undefined],
  ["a.io/b%4", undefined],
  ["u:%41@a.io:80", "a.io:80 "],
  ["u:%zz@a.io", undefined],
  ["a%8z.io", undefined],
  ["a.io:x", undefined],
  ["[::1]:80/b", "[::1]:80 /b"],
  ["[::1]x", undefined],
  ["[fe80::1%25eth0]", "[fe80::1%eth0] "],
  ["[fe80::1%25%2f]", undefined],
  ["[fe80::1%25]", undefined],
  ["[fe80::1%25%41]", "[fe80::1%A] "],
  ["[fe80::1%25a%20b]", "[fe80::1%a b] "],
  ["[fe80::1%25%25]", "[fe80::1%%] "],
  ["[fe80::1%25%c3%a4]", undefined],
  ["[fe80::1%25%zz]", undefined],
  ["a.io%25b", "a.io%b "],
];
for (const [key, location] of keys)
  test(`reads ${key} as ${location ?? "no registry"}`, () => {
    const { host, path } = parseLocation(key) ?? {};
    assert.equal(host === undefined ? undefined : `${host} ${path}`, location);
  });

for (const [text, host, port] of [
  ["a.io:80", "a.io", "80"],
  [":80", "", "80"],
  ["a.io", "a.io", ""],
  ["[::1]:80", "::1", "80"],
  ["::1", "::1", ""],
  ["[::1]", "[::1]", ""],
] as const)
  test(`splits ${text} into the host ${host} and the port ${port}`, () =>
    assert.deepEqual(splitPort(text), { host, port }));

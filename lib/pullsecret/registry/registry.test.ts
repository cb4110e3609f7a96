import assert from "node:assert/strict";
import { test } from "node:test";
import { labelsMeet, matchesLabel } from "./glob.ts";
import { covers, identity, isHubPage, isTriedBefore, overlaps } from "./registry.ts";

const identities: readonly (readonly [key: string, identity: string | undefined])[] = [
  ["quay.io", "quay.io"],
  ["https://quay.io/v2/", "quay.io"],
  ["http://quay.io/", "quay.io"],
  ["https://index.docker.io/v1/", "index.docker.io"],
  ["quay.io/v1/org", "quay.io/org"],
  ["quay.io/v1x/org", "quay.io/v1x/org"],
  ["HTTPS://quay.io", undefined],
  ["", undefined],
  ["*.quay.io:5000", "*.quay.io:5000"],
  ["[::1]:5000", "[::1]:5000"],
  ["quay.io/%6frg", "quay.io/org"],
  ["quay.io/%6", undefined],
  ["quay.io/%zzorg", undefined],
];

test("treats two keys as the same registry when the kubelet does", () => {
  for (const [key, expected] of identities) assert.equal(identity(key), expected, key);
});

/**
 * Whether the first registry covers the second (and so overlaps it), only overlaps it, or neither.
 */
const relations: readonly (readonly [string, string, "covers" | "overlaps" | "neither"])[] = [
  ["a.io", "a.io", "covers"],
  ["a.io", "a.io/foo", "covers"],
  ["a.io/foo", "a.io", "overlaps"],
  ["a.io/foo", "a.io/foobar", "covers"],
  ["a.io/foo/", "a.io/foobar", "neither"],
  ["a.io", "b.io", "neither"],
  ["a.io", "a.io:443", "neither"],
  ["a.io", "x.a.io", "neither"],
  ["*.io", "a.io", "covers"],
  ["*.io", "a.io/foo", "covers"],
  ["*.io/foo", "a.io", "overlaps"],
  ["a.io", "*.io", "overlaps"],
  ["*.io", "x.a.io", "neither"],
  ["*.io:5000", "a.io", "neither"],
  ["*.*", "*.io", "covers"],
  ["*.io", "*.*", "overlaps"],
  ["a*.io", "*b.io", "overlaps"],
  ["a*.io", "b*.io", "neither"],
  ["*a.io", "*b.io", "neither"],
  ["a*c.io", "abc.io", "covers"],
  ["a*c.io", "ac.io", "covers"],
  ["ab*bc.io", "abc.io", "neither"],
  ["*a*.io", "bab.io", "covers"],
  ["docker.io", "index.docker.io", "covers"],
  ["docker.io/org", "index.docker.io", "overlaps"],
  ["*.io", "index.docker.io", "covers"],
  ["index.docker.io", "docker.io/org", "covers"],
  ["index.docker.io", "quay.io", "neither"],
];

test("finds whether a registry covers another, only overlaps it, or neither", () => {
  for (const [registry, other, expected] of relations) {
    assert.equal(covers(registry, other), expected === "covers", `${registry} covers ${other}`);
    assert.equal(
      overlaps(registry, other),
      expected !== "neither",
      `${registry} overlaps ${other}`,
    );
  }
});

test("orders keys as the kubelet: backwards through the alphabet, Docker Hub's own entry last", () => {
  const order = [
    "quay.io/org",
    "quay.io",
    "docker.io",
    "a.io/foo/bar",
    "a.io/foo",
    "a.io",
    "*.io",
    "index.docker.io",
  ];
  for (const [index, first] of order.entries()) {
    for (const later of order.slice(index + 1)) {
      assert.ok(isTriedBefore(first, later), `${first} before ${later}`);
      assert.ok(!isTriedBefore(later, first), `${later} not before ${first}`);
    }
  }
});

test("takes only Docker's own hosts for pages of Docker Hub", () => {
  for (const host of ["docker.com", "hub.docker.com", "registry-1.docker.io", "auth.docker.io:443"])
    assert.ok(isHubPage(host), host);
  for (const host of [
    "docker.io",
    "index.docker.io",
    "mydocker.com",
    "mydocker.io",
    "docker.com.example",
    "hub.docker.com.a.io",
    "a.io/hub.docker.com",
    "docker-com",
  ])
    assert.ok(!isHubPage(host), host);
});

/** For each pattern: labels that it matches as Go does, and labels that it does not match. */
const patterns: Readonly<Record<string, readonly [matched: string[], others: string[]]>> = {
  a: [["a"], ["", "b", "aa"]],
  "*": [["", "a", "ab"], []],
  "a*b*": [
    ["ab", "acbc", "abb"],
    ["", "a", "ba", "ac"],
  ],
  "[::a]": [
    [":", "a"],
    ["", "b", "[", "::a"],
  ],
  "x[ac-e:]y*": [
    ["xay", "xcyz", "xdy", "xey", "x:y"],
    ["xby", "xfy", "x-y", "xy", "xa"],
  ],
  "[a][b]": [["ab"], ["a", "b", "ba"]],
  "[a-a]": [["a"], ["b", "-"]],
  "[c-a]": [[], ["a", "b", "c", "-"]],
  "[a-]": [[], ["a", "-"]],
  "[-a]": [[], ["a", "-"]],
  "[a--]": [[], ["a", "-"]],
  "[a": [[], ["a", "[a"]],
  "a[": [[], ["a", "a["]],
};
for (const [pattern, [matched, others]] of Object.entries(patterns))
  test(`matches exactly ${matched.length} of ${matched.length + others.length} labels with ${pattern}`, () => {
    for (const label of matched) assert.ok(matchesLabel(pattern, label), label);
    for (const label of others) assert.ok(!matchesLabel(pattern, label), label);
  });

/** All texts of these letters, up to this length. */
const textsOf = (letters: string, longest: number): readonly string[] =>
  longest === 0
    ? [""]
    : ["", ...textsOf(letters, longest - 1).flatMap((text) => [...letters].map((a) => a + text))];

test("law: two patterns meet exactly if some label matches both", () => {
  const patternsWithStars = textsOf("ab*", 4);
  // Two patterns with four letters in all can only meet at a label of up to eight letters.
  const labels = textsOf("ab", 8);
  const matchedBy = new Map(
    patternsWithStars.map((pattern) => [
      pattern,
      new Set(labels.filter((label) => matchesLabel(pattern, label))),
    ]),
  );
  for (const [pattern, matched] of matchedBy)
    for (const [other, otherMatched] of matchedBy) {
      const meets = [...matched].some((label) => otherMatched.has(label));
      assert.equal(labelsMeet(pattern, other), meets, `${pattern} and ${other}`);
    }
});

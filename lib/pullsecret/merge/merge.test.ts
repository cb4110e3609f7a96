import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { canonical, readSources, sourcesOf } from "./canonical.ts";
import { Wrong } from "#contract/values.ts";
import { protectable } from "./protect.ts";
import { merge, type Merged, type MergePolicy } from "./merge.ts";
import type { MergeSource } from "./offer.ts";
import { parse, type Accepted } from "../document/parse.ts";
import { formatProblem } from "../problems/problems.ts";

type Keys = Readonly<Record<string, string>>;

function source(auths: Keys, role: "original" | "additional", rest: object = {}): Accepted {
  const members = Object.entries(auths).map(([key, text]) => [
    key,
    { auth: Buffer.from(text).toString("base64") },
  ]);
  const parsed = parse(
    Buffer.from(JSON.stringify({ ...rest, auths: Object.fromEntries(members) })),
    {
      name: role,
      role,
    },
  );
  assert.ok(parsed.ok);
  return { ...parsed, warnings: [] };
}

function mergeKeys(original: Keys, additional: Keys, policy: Partial<MergePolicy> = {}): Merged {
  const sources = [
    { id: "additional", accepted: source(additional, "additional") },
    { id: "original", accepted: source(original, "original") },
  ];
  return merge(sources, { conflicts: "additional", protect: [], ...policy });
}

function mapped<Value>(keys: Keys, value: (text: string) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(keys).map(([key, text]) => [key, value(text)]));
}

function lines(merged: Merged): string[] {
  return (merged.ok ? merged.warnings : merged.problems).map(formatProblem);
}

test("H9: prefers the additional source in a conflict, and reports the conflict", () => {
  const merged = mergeKeys({ "a.io": "u:p" }, { "https://a.io/v1/": "x:y" });
  assert.ok(merged.ok);
  assert.equal(canonical(merged), '{"auths":{"a.io":{"auth":"eDp5"}}}');
  assert.deepEqual({ ...sourcesOf(merged) }, { "a.io": "additional" });
  assert.deepEqual(lines(merged), [
    'additional: auths["a.io"]: differs from the credential in the original; no action needed if intended: the additional\'s is used',
  ]);
});

test("H9: keeps the original's credential with PreferOriginal", () => {
  const merged = mergeKeys({ "a.io": "u:p" }, { "a.io": "x:y" }, { conflicts: "original" });
  assert.ok(merged.ok);
  assert.equal(canonical(merged), '{"auths":{"a.io":{"auth":"dTpw"}}}');
  assert.match(lines(merged)[0] ?? "", /the original's is used/);
});

test("reports no conflict for a credential that both sources have, and attributes it to the original", () => {
  const merged = mergeKeys({ "a.io": "u:p" }, { "a.io": "u:p" }, { protect: ["a.io"] });
  assert.ok(merged.ok);
  assert.deepEqual(lines(merged), []);
  assert.deepEqual({ ...sourcesOf(merged) }, { "a.io": "original" });
});

/**
 * `sources`: the highest first, each as `id: registry=credential …`. `result`: the result for a.io,
 * as `credential source > sources with another credential`. `reported`: the number of conflicts.
 */
const rankings: readonly (readonly [
  sources: readonly string[],
  result: string,
  reported: number,
])[] = [
  [["additional: a.io=1", "team: a.io=2", "original: a.io=3"], "1 additional > team original", 2],
  [["team: a.io=2", "original: a.io=3"], "2 team > original", 1],
  [["additional: a.io=1", "team: a.io=1", "original: a.io=3"], "1 team > original", 1],
  [["additional: a.io=1", "team: a.io=1", "original: a.io=1"], "1 original >", 0],
  [["additional: a.io=1", "team: a.io=2", "original: a.io=1"], "1 additional > team", 1],
  [["additional: b.io=1", "team: a.io=2", "crew: a.io=2"], "2 crew >", 0],
];
for (const [sources, result, reported] of rankings) {
  test(`${sources.join("; ")}: a.io is ${result}`, () => {
    const merged = merge(sources.map(short), { conflicts: "additional", protect: [] });
    assert.ok(merged.ok);
    const entry = merged.entries.find(({ registry }) => registry === "a.io");
    const { credential, from, shadows } = entry ?? assert.fail();
    assert.equal([credential.password, from, ">", ...shadows].join(" "), result);
    assert.equal(merged.warnings.filter(({ code }) => code === "GPS164").length, reported);
  });
}

function short(line: string): MergeSource {
  const [id = "", rest = ""] = line.split(": ");
  const keys = rest.split(" ").map((pair) => pair.split("="));
  const auths = Object.fromEntries(keys.map(([key = "", word = ""]) => [key, `u:${word}`]));
  return { id, accepted: source(auths, id === "original" ? "original" : "additional") };
}

/** Sources, the highest first; the written entries with their sources; the number of conflicts. */
const between: readonly (readonly [
  sources: readonly string[],
  written: string,
  conflicts: number,
])[] = [
  [
    ["additional: a.io=1", "team: a.io=2", "original: a.io=1 https://a.io=2"],
    "a.io=1 of original, https://a.io=2 of original",
    0,
  ],
  [
    ["additional: a.io=1", "team: a.io=3", "original: a.io=1 https://a.io=2"],
    "a.io=1 of additional, https://a.io=2 of additional",
    1,
  ],
  [
    ["additional: a.io=1", "team: a.io=2", "crew: a.io=3", "original: a.io=1 https://a.io=2"],
    "a.io=1 of team, https://a.io=2 of team",
    1,
  ],
  [
    ["additional: a.io=3", "team: a.io=2", "original: a.io=1 https://a.io=2"],
    "a.io=3 of additional",
    2,
  ],
  [
    [
      "additional: docker.io=1",
      "team: docker.io=2",
      "original: https://docker.io=1 http://docker.io=2",
    ],
    "http://docker.io=2 of original, https://docker.io=1 of original",
    0,
  ],
  [
    ["additional: docker.io=1", "team: docker.io=2", "original: https://index.docker.io/v1/=1"],
    "docker.io=1 of additional, https://index.docker.io/v1/=1 of additional",
    1,
  ],
  ...[1, 2, 3].flatMap(
    (word) =>
      [
        [
          [`additional: a.io=${word}`, "original: a.io=1 http://a.io=2 https://a.io=3"],
          "a.io=1 of original, http://a.io=2 of original, https://a.io=3 of original",
          0,
        ],
        [
          [
            `additional: docker.io=${word}`,
            "original: docker.io=1 http://docker.io=2 https://docker.io=3 https://index.docker.io/v1/=4",
          ],
          "docker.io=1 of original, http://docker.io=2 of original, https://docker.io=3 of original, https://index.docker.io/v1/=4 of original",
          0,
        ],
      ] as const,
  ),
];
for (const [sources, written, conflicts] of between)
  test(`loses none of an original's credentials if the winner has one of them: ${sources.join("; ")}`, () => {
    const merged = merge(sources.map(short), { conflicts: "additional", protect: [] });
    assert.ok(merged.ok);
    const lines = merged.entries.map(
      ({ registry, credential, from }) => `${registry}=${credential.password} of ${from}`,
    );
    assert.equal(lines.join(", "), written);
    assert.equal(merged.warnings.filter(({ code }) => code === "GPS164").length, conflicts);
  });

test("names both extra sources in a conflict, and whose credential is used", () => {
  const both = ["team: a.io=1", "crew: a.io=2"].map(short);
  assert.deepEqual(lines(merge(both, { conflicts: "additional", protect: [] })), [
    'team: auths["a.io"]: differs from the credential in crew; no action needed if intended: team\'s is used',
  ]);
});

test("reports a lower source that takes over images from a higher source, with both names", () => {
  const both = ["additional: a.io=1", "team: a.io/x=2", "original: b.io=3"].map(short);
  assert.deepEqual(lines(merge(both, { conflicts: "additional", protect: [] })), [
    'team: auths["a.io/x"]: is tried before "a.io" of the additional; no action needed if intended: images that match both use this entry from now on',
  ]);
});

test("refuses more than 1,000 registries in all sources together, because no agent would accept them", () => {
  const many = (id: string, count: number): MergeSource => ({
    id,
    accepted: source(
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${id}${at}.io`, "u:p"])),
      "additional",
    ),
  });
  const of = (...counts: readonly number[]) =>
    merge(
      counts.map((count, at) => many(`team-${at}-`, count)),
      { conflicts: "additional", protect: [] },
    );
  assert.ok(of(600, 400).ok);
  assert.match(lines(of(600, 401)).join(), /^merged: auths: more than 1,000 registries; /);
});

/** original, additional, how the first warning begins after `additional: `. */
const shadows: readonly (readonly [
  original: string,
  additional: string,
  warning: string | undefined,
])[] = [
  ["quay.io", "quay.io/org", 'auths["quay.io/org"]: is tried before "quay.io" of the original'],
  ["quay.io/org", "quay.io", undefined],
  ["quay.io", "quay.io:443", undefined],
  ["*.io", "quay.io", 'auths["quay.io"]: is tried before "*.io" of the original'],
  ["quay.io", "*.io", undefined],
  ["*.io/org", "*.io", undefined],
  ["*y.io", "q*.io", 'auths["q*.io"]: is tried before "*y.io" of the original'],
  [
    "index.docker.io",
    "docker.io/org",
    'auths["docker.io/org"]: is tried before "index.docker.io" of the original',
  ],
  ["docker.io/org", "index.docker.io", undefined],
  ["a.io/foo", "a.io/foobar", 'auths["a.io/foobar"]: is tried before "a.io/foo" of the original'],
];

test("reports an additional source that takes over images from the original", () => {
  for (const [original, additional, warning] of shadows) {
    const merged = mergeKeys({ [original]: "u:p" }, { [additional]: "x:y" });
    assert.ok(merged.ok);
    assert.equal(merged.entries.length, 2);
    const reported = lines(merged);
    assert.equal(
      reported.length,
      warning === undefined ? 0 : 1,
      `${additional} over ${original}: ${reported}`,
    );
    assert.ok(
      (reported[0] ?? "").startsWith(warning === undefined ? "" : `additional: ${warning}`),
      reported[0],
    );
  }
});

const hubKey = "https://index.docker.io/v1/";
/**
 * The original's entries; the additional source's entries; the result if the additional source is
 * preferred; the result if the original is preferred.
 */
const hubs: readonly (readonly [
  why: string,
  original: Readonly<Record<string, string>>,
  additional: Readonly<Record<string, string>>,
  additionalFirst: Readonly<Record<string, string>>,
  originalFirst: Readonly<Record<string, string>>,
])[] = [
  [
    "docker login's key in the original",
    { [hubKey]: "o" },
    { "docker.io": "a" },
    { "docker.io": "a" },
    { [hubKey]: "o" },
  ],
  [
    "docker.io in the original",
    { "docker.io": "o" },
    { [hubKey]: "a" },
    { [hubKey]: "a" },
    { "docker.io": "o" },
  ],
  [
    "both names in the original",
    { "docker.io": "o", [hubKey]: "o" },
    { [hubKey]: "a" },
    { [hubKey]: "a" },
    { "docker.io": "o", [hubKey]: "o" },
  ],
  [
    "two credentials in the original; the kubelet tries only the one under docker.io",
    { "docker.io": "o", [hubKey]: "unused" },
    { "docker.io": "o" },
    { "docker.io": "o", [hubKey]: "unused" },
    { "docker.io": "o", [hubKey]: "unused" },
  ],
  [
    "both sources have the same credential, the original under docker.io",
    { "docker.io": "o" },
    { [hubKey]: "o" },
    { "docker.io": "o" },
    { "docker.io": "o" },
  ],
  [
    "both sources have the same credential, the additional under docker.io",
    { [hubKey]: "o" },
    { "docker.io": "o" },
    { [hubKey]: "o", "docker.io": "o" },
    { [hubKey]: "o" },
  ],
  [
    "both sources have the same credential, which the original's own wildcard hides",
    { [hubKey]: "o", "*.io": "w" },
    { "docker.io": "o" },
    { [hubKey]: "o", "docker.io": "o", "*.io": "w" },
    { [hubKey]: "o", "*.io": "w" },
  ],
  [
    "the additional has one of the original's two credentials, under docker.io",
    { [hubKey]: "o", "index.docker.io": "p" },
    { "docker.io": "p" },
    {
      [hubKey]: "o",
      "index.docker.io": "p",
      "https://docker.io/v1/": "o",
      "docker.io": "p",
    },
    { [hubKey]: "o", "index.docker.io": "p" },
  ],
  [
    "the additional has one of the original's two credentials, under docker.io, beside a wildcard",
    { [hubKey]: "o", "index.docker.io": "p" },
    { "docker.io": "p", "*.io": "w" },
    {
      [hubKey]: "o",
      "index.docker.io": "p",
      "https://docker.io/v1/": "o",
      "docker.io": "p",
      "*.io": "w",
    },
    {
      [hubKey]: "o",
      "index.docker.io": "p",
      "https://docker.io/v1/": "o",
      "docker.io": "p",
      "*.io": "w",
    },
  ],
  [
    "the original's own wildcard hides both of its credentials; the additional has one of them",
    { [hubKey]: "o", "index.docker.io": "p", "docker.*": "w" },
    { [hubKey]: "p" },
    {
      [hubKey]: "o",
      "index.docker.io": "p",
      "https://docker.io/v1/": "o",
      "docker.io": "p",
      "docker.*": "w",
    },
    { [hubKey]: "o", "index.docker.io": "p", "docker.*": "w" },
  ],
  [
    "two credentials in the original; a wildcard of the additional would hide both",
    { [hubKey]: "o", "index.docker.io": "p" },
    { "docker.*": "a" },
    { [hubKey]: "o", "index.docker.io": "p", "docker.*": "a" },
    {
      [hubKey]: "o",
      "index.docker.io": "p",
      "https://docker.io/v1/": "o",
      "docker.io": "p",
      "docker.*": "a",
    },
  ],
  [
    "a wildcard of the lower source would hide docker login's key",
    { "*.io": "o" },
    { [hubKey]: "a" },
    { "*.io": "o", [hubKey]: "a", "docker.io": "a" },
    { "*.io": "o", [hubKey]: "a" },
  ],
  [
    "a wildcard of the higher source is allowed to hide docker login's key",
    { [hubKey]: "o" },
    { "docker.*": "a" },
    { [hubKey]: "o", "docker.*": "a" },
    { [hubKey]: "o", "docker.*": "a", "docker.io": "o" },
  ],
  [
    "the additional displaces docker.io, and its own wildcard would hide docker login's key",
    { "docker.io": "o" },
    { [hubKey]: "a", "*.io": "w" },
    { [hubKey]: "a", "docker.io": "a", "*.io": "w" },
    { "docker.io": "o", "*.io": "w" },
  ],
  [
    "the original's own wildcard hides its docker login key; the additional has docker.io",
    { [hubKey]: "o", "*.io": "w" },
    { "docker.io": "a" },
    { "docker.io": "a", "*.io": "w" },
    { [hubKey]: "o", "*.io": "w" },
  ],
  [
    "a path of docker.io is another registry",
    { "docker.io/team": "o" },
    { [hubKey]: "a" },
    { "docker.io/team": "o", [hubKey]: "a" },
    { "docker.io/team": "o", [hubKey]: "a" },
  ],
];
for (const [why, original, additional, ...expected] of hubs)
  for (const [at, conflicts] of (["additional", "original"] as const).entries())
    test(`F49, F50: Docker Hub under two names, the ${conflicts} preferred: ${why}`, () => {
      const pairs = (keys: Keys) => mapped(keys, (word) => `${word}:${word}`);
      const merged = mergeKeys(pairs(original), pairs(additional), { conflicts });
      assert.ok(merged.ok);
      const written = merged.entries.map(({ registry, credential }) => [
        registry,
        credential.username,
      ]);
      assert.deepEqual(Object.fromEntries(written), expected[at]);
    });

test("reports a takeover under Docker Hub's other name once", () => {
  const reported = (original: string, additional: string) =>
    lines(mergeKeys({ [original]: "u:p" }, { [additional]: "x:y" })).map((line) =>
      line.replace(/;.*/, ""),
    );
  assert.deepEqual(reported(hubKey, "docker.io"), [
    'additional: auths["docker.io"]: differs from the credential in the original',
  ]);
  assert.deepEqual(reported("docker.io", hubKey), [
    `additional: auths["${hubKey}"]: differs from the credential in the original`,
  ]);
  assert.deepEqual(reported("docker.*", hubKey), [
    `additional: auths["${hubKey}"]: is also written as docker.io, before "docker.*" of the original`,
  ]);
});

/** original, additional; the codes reported for each source when the original is preferred. */
const reported: readonly (readonly [original: Keys, additional: Keys, codes: string])[] = [
  [{ [hubKey]: "o:o" }, { "docker.*": "a:a" }, "original GPS172"],
  [{ [hubKey]: "o:o" }, { "*.io": "a:a" }, "original GPS172"],
  [
    { [hubKey]: "o:o" },
    { "*.io": "a:a", "docker.io/x": "a:a" },
    "original GPS172, additional GPS165",
  ],
  [{ [hubKey]: "o:o" }, { "*.io": "o:o" }, "additional GPS165"],
  [{ "docker.io": "o:o" }, { "*.io": "a:a" }, ""],
  [{ "*.io": "o:o" }, { [hubKey]: "a:a" }, "additional GPS162"],
  [
    { [hubKey]: "o:o" },
    { "docker.io": "a:a", "*.io": "a:a" },
    "additional GPS164, original GPS172",
  ],
];
for (const [original, additional, codes] of reported)
  test(`reports no warnings that contradict each other, with the original preferred: ${Object.keys(original).join()} and ${Object.keys(additional).join()}`, () => {
    const merged = mergeKeys(original, additional, { conflicts: "original" });
    assert.ok(merged.ok);
    const lines = merged.warnings.map(({ source: id, code }) => `${id} ${code}`);
    assert.equal(lines.join(", "), codes);
  });

test("does not report a key as never tried when its credential is tried", () => {
  const text = (keys: Keys) =>
    Buffer.from(JSON.stringify({ auths: mapped(keys, (login) => ({ auth: btoa(login) })) }));
  const codes = (original: Keys, additional: Keys) => {
    const sources = Object.entries({ additional, original }).map(([id, keys]) => {
      const accepted = parse(text(keys), { name: id, role: id as "original" });
      return { id, accepted: accepted.ok ? accepted : assert.fail(id) };
    });
    const merged = merge(sources, { conflicts: "additional", protect: [] });
    return merged.ok && merged.warnings.map(({ source: id, code }) => `${id} ${code}`).join(", ");
  };
  const hidden = { [hubKey]: "o:o", "*.io": "w:w" };
  assert.equal(codes(hidden, {}), "original GPS156, original GPS162");
  assert.equal(codes(hidden, { [hubKey]: "o:o" }), "original GPS156, additional GPS172");
  assert.equal(codes(hidden, { "docker.io": "o:o" }), "original GPS156, additional GPS165");
  assert.equal(
    codes(hidden, { "docker.io": "a:a" }),
    "original GPS156, additional GPS164, additional GPS165",
  );
  assert.equal(
    codes({ [hubKey]: "o:o", "docker.io": "u:2" }, { "docker.io": "o:o" }),
    "additional GPS164",
  );
  // A wildcard hides both logins, so there is no conflict, unless the wildcard has a credential of
  // one of the logins.
  const wild = (login: string) => codes({ [hubKey]: "o:o" }, { [hubKey]: login, "*.io": "w:w" });
  assert.equal(wild("w:w"), "additional GPS156, additional GPS164");
  assert.equal(wild("a:a"), "additional GPS156, additional GPS162, additional GPS165");
});

test("does not warn about a credential that is not written", () => {
  const reported = lines(
    mergeKeys({ "quay.io": "o:o" }, { "quay.io": "a:a", "quay.io/team": "t:t" }),
  ).map((line) => line.replace(/;.*/, ""));
  assert.deepEqual(reported, [
    'additional: auths["quay.io"]: differs from the credential in the original',
  ]);
});

test("writes all of an original's credentials for Docker Hub if a wildcard has one of them", () => {
  const source = (id: string, keys: Keys) => {
    const auths = mapped(keys, (login) => ({ auth: btoa(login) }));
    const role = id === "original" ? "original" : "additional";
    const accepted = parse(Buffer.from(JSON.stringify({ auths })), { name: id, role });
    return { id, accepted: accepted.ok ? accepted : assert.fail(id) };
  };
  const merged = merge(
    [
      source("additional", { [hubKey]: "u:1", "*.io": "u:1" }),
      source("team", { "docker.io": "t:t" }),
      source("original", { [hubKey]: "u:1", "index.docker.io": "u:2" }),
    ],
    { conflicts: "additional", protect: [] },
  );
  assert.ok(merged.ok);
  const named = merged.entries.filter(({ registry }) =>
    /^(?:https:\/\/)?docker\.io/.test(registry),
  );
  assert.deepEqual(named.map(({ credential }) => credential.password).toSorted(), ["1", "2"]);
});

/**
 * The original's key, the additional source's key, and the protected registry. For this registry,
 * the additional source is allowed to have only the original's credential.
 */
const owns: readonly (readonly [original: string, additional: string, protect: string])[] = [
  [hubKey, "docker.io", "docker.io"],
  ["docker.io", hubKey, "docker.io"],
  [hubKey, "docker.io", "docker.io/library"],
  ["index.docker.io", "https://docker.io/v1/", hubKey],
  ["a.io", "https://a.io/v2/", "a.io"],
];

test("accepts each of an original's own credentials for a protected registry", () => {
  const original = { "a.io": "u:1", "https://a.io": "u:2" };
  const taking = (pair: string) => mergeKeys(original, { "a.io": pair }, { protect: ["a.io"] });
  assert.deepEqual([taking("u:1").ok, taking("u:2").ok, taking("u:3").ok], [true, true, false]);
});

for (const [original, additional, protect] of owns)
  test(`accepts only the original's own credential under ${additional} when ${protect} is protected`, () => {
    for (const conflicts of ["additional", "original"] as const) {
      const merge = (pair: string) =>
        mergeKeys({ [original]: "u:p" }, { [additional]: pair }, { conflicts, protect: [protect] });
      assert.ok(merge("u:p").ok);
      assert.match(lines(merge("u:q")).join(), /^additional: auths\[.*\]: serves images of/);
    }
  });

/**
 * The additional source's entries; the result if it is preferred; the result if the original is
 * preferred.
 */
const spellings: readonly (readonly [
  why: string,
  additional: Keys,
  additionalFirst: Keys,
  originalFirst: Keys,
])[] = [
  [
    "another registry",
    { "b.io": "a" },
    { "a.io": "o", "https://a.io": "p", "b.io": "a" },
    { "a.io": "o", "https://a.io": "p", "b.io": "a" },
  ],
  ["another credential", { "a.io": "a" }, { "a.io": "a" }, { "a.io": "o", "https://a.io": "p" }],
  [
    "one of the two credentials",
    { "http://a.io": "p" },
    { "a.io": "o", "https://a.io": "p" },
    { "a.io": "o", "https://a.io": "p" },
  ],
  [
    "a path of the registry",
    { "a.io/x": "a" },
    { "a.io": "o", "https://a.io": "p", "a.io/x": "a" },
    { "a.io": "o", "https://a.io": "p", "a.io/x": "a" },
  ],
];
for (const [why, additional, ...expected] of spellings)
  for (const [at, conflicts] of (["additional", "original"] as const).entries())
    test(`F52: two spellings in the original, and ${why} in the additional; the ${conflicts} is preferred`, () => {
      const pairs = (keys: Keys) => mapped(keys, (word) => `${word}:${word}`);
      const original = pairs({ "a.io": "o", "https://a.io": "p" });
      const merged = mergeKeys(original, pairs(additional), { conflicts });
      assert.ok(merged.ok);
      const written = merged.entries.map(({ registry, credential }) => [
        registry,
        credential.username,
      ]);
      assert.deepEqual(Object.fromEntries(written), expected[at]);
      const lost = merged.warnings.filter(({ code }) => code === "GPS164").length;
      assert.equal(lost, additional["a.io"] === "a" ? 1 : 0);
    });

test("reports a conflict, and no takeover, for a path if the original has both the path and its whole registry", () => {
  for (const conflicts of ["additional", "original"] as const) {
    const merged = mergeKeys(
      { "a.io": "u:p", "a.io/x": "u:p" },
      { "a.io/x": "x:y" },
      { conflicts },
    );
    assert.match(
      lines(merged).join("\n"),
      /^additional: auths\["a.io\/x"\]: differs from the credential in .*$/,
    );
  }
});

test("names the nearest of several shadowed registries", () => {
  const merged = mergeKeys(
    { "a.io": "u:p", "a.io/x": "u:p", "*.io": "u:p" },
    { "a.io/x/y": "x:y" },
  );
  assert.match(
    lines(merged).join(),
    /^additional: auths\["a.io\/x\/y"\]: is tried before "a.io\/x" of/,
  );
  const sources = ["additional: a.io/x=2", "team: a.io=1", "original: a.io=1"].map(short);
  const tied = merge(sources, { conflicts: "additional", protect: [] });
  assert.match(lines(tied).join(), /^additional: .* is tried before "a\.io" of team\b/);
});

/**
 * protected registry, additional registry, refused? A registry is protected even if the original
 * has no entry for it.
 */
const protections: readonly (readonly [protect: string, additional: string, refused: boolean])[] = [
  ["quay.io", "quay.io", true],
  ["https://quay.io/v2/", "quay.io", true],
  ["quay.io", "quay.io/org", true],
  ["quay.io/org", "quay.io", true],
  ["quay.io/org", "quay.io/other", false],
  ["quay.io", "*.io", true],
  ["*.io", "quay.io", true],
  ["quay.io", "b.io", false],
  ["docker.io", "index.docker.io", true],
  ["index.docker.io", "docker.io/org", true],
  ["quay.io/v1/foo", "quay.io/foo", true],
  ["quay.io/v1/foo", "quay.io/v", true],
  ["quay.io/v1/foo", "quay.io/v1/v1/foo", true],
  ["quay.io/v1/foo", "quay.io/w", false],
  ["Quay.io", "quay.io", true],
  ["quay.io:443", "quay.io", true],
  ["quay.io:443/team", "quay.io/team", true],
  ["quay.io", "quay.io:443", true],
  ["quay.io:5000", "quay.io", false],
  ["https://Quay.io/v2/", "quay.io/team", true],
  ["Docker.io", "https://index.docker.io/v1/", true],
  ["[FC00::3]:5000", "[fc00::3]:5000", true],
  ["https://index.docker.io/v1", "docker.io/team", true],
  ["docker.io/nginx", "docker.io/library/nginx", true],
  ["docker.io/nginx/", "docker.io/library/nginx", true],
  ["docker.io/nginx", "docker.io/nginx", true],
  ["docker.io/nginx", "docker.io/library", true],
  ["docker.io/nginx", "docker.io/library/redis", false],
  ["docker.io/nginx", "docker.io/team", false],
  ["docker.io/library/nginx", "docker.io/library/nginx", true],
  ["*.io/nginx", "docker.io/library/nginx", true],
  ["quay.io/nginx", "docker.io/library/nginx", false],
  ["https://quay.io/v2", "quay.io", true],
  ["quay.io/v1", "quay.io/team", true],
  ["*:5000", "registry:5000", true],
];

test("never serves a protected registry from an additional entry, whatever the conflict policy", () => {
  for (const [protect, additional, refused] of protections) {
    for (const conflicts of ["additional", "original"] as const) {
      for (const original of [{}, { [protect]: "u:p" }]) {
        const merged = mergeKeys(
          original,
          { [additional]: "x:y" },
          { conflicts, protect: [protect] },
        );
        assert.equal(merged.ok, !refused, `${additional} against ${protect}`);
        if (refused)
          assert.match(lines(merged).join(), /serves images of .*, which is protected; /);
      }
    }
  }
});

/** Values that protect nothing, or far less than they seem to, and the line about them. */
const unprotectable: readonly (readonly [value: string, line: RegExp])[] = [
  ["", /^is empty; give/],
  [" ", /^is empty; give/],
  ["quay.io/*", /^is not a registry; give it/],
  ["QUAY.IO/Team", /^is not a registry; give it/],
  ["a b", /^is not a registry; give it/],
  ["nginx", /^is not a registry; give it/],
  ["quay.io/team:1", /^is not a registry; give it/],
  ["quay.io.", /^is not a registry; give it/],
  ["quay.io:*", /^is not a registry; give it/],
  ["fc00::/7", /^is not a registry; give it/],
  ["[fc00::]/7", /^is not a registry; give it/],
  ["index.docker.io:443/library/nginx", /^has a path that no image name has; give docker\.io/],
  ["https://u@index.docker.io:0443/nginx", /^has a path that no image name has; give docker\.io/],
  ["index.docker.io/nginx", /^has a path that no image name has; give docker\.io/],
  ["https://index.docker.io/v1/nginx", /^has a path that no image name has; give docker\.io/],
  ["hub.docker.com", /give docker\.io for Docker Hub$/],
  ["registry.hub.docker.com", /give docker\.io for Docker Hub$/],
  ["registry-1.docker.io", /give docker\.io for Docker Hub$/],
  ["docker.com", /give docker\.io for Docker Hub$/],
  ["*.docker.io", /give docker\.io for Docker Hub$/],
  ["https://Hub.Docker.com/", /give docker\.io for Docker Hub$/],
  ["*", /^means only hosts without a dot/],
  ["**", /^means only hosts without a dot/],
  ["*/team", /^means only hosts without a dot/],
  ["quay.io:", /^has no port from 1 to 65535/],
  ["quay.io:0", /^has no port from 1 to 65535/],
  ["quay.io:65536", /^has no port from 1 to 65535/],
  ["10.0.0.0/8", /^is a range of addresses/],
  ["192.168.0.0:5000/16", /^is a range of addresses/],
];
for (const [value, line] of unprotectable)
  test(`F54: refuses to protect ${JSON.stringify(value)}`, () => {
    const wrong = protectable(value);
    assert.ok(wrong instanceof Wrong);
    assert.match(wrong.message, line);
    assert.match(wrong.message, /; (?:give|name|correct) /, "what to do");
    const merged = mergeKeys({}, {}, { protect: [value] });
    assert.match(lines(merged).join(), /^protect: ".*": not a registry that can be protected; /);
  });

test("F54: reports a value that protects nothing, and still protects the others", () => {
  for (const protect of [
    ["a b", "quay.io"],
    ["quay.io", "a b"],
  ]) {
    const reported = lines(mergeKeys({}, { "quay.io": "x:y" }, { protect })).toSorted();
    assert.equal(reported.length, 2);
    assert.match(
      reported[0] ?? "",
      /^additional: auths\["quay\.io"\]: serves images of "quay\.io"/,
    );
    assert.match(reported[1] ?? "", /^protect: "a b": not a registry that can be protected/);
  }
});

test("F54: protects a registry also when a key has capitals, or zeros before the port", () => {
  const keys = { "QUAY.io": "x:y", "a.io:05000": "x:y", "quay.io:0443": "x:y", "b.io": "x:y" };
  const merged = mergeKeys({}, keys, { protect: ["quay.io", "a.io:5000"] });
  assert.deepEqual(lines(merged).length, 3);
  assert.match(lines(merged).join(), /"QUAY\.io".*"quay\.io", which is protected/);
});

for (const [protect, registry, warned] of [
  ["*.amazonaws.com", "1.dkr.ecr.eu-west-1.amazonaws.com", '"1.dkr.ecr.eu-west-1.amazonaws.com"'],
  ["1.dkr.ecr.*.amazonaws.com", "1.dkr.ecr.a.b.amazonaws.com", '"1.dkr.ecr.a.b.amazonaws.com"'],
  ["*.example.com/team", "a.b.example.com/team/x", '"a.b.example.com/team"'],
  ["*.Example.com:5000", "a.b.example.com:5000", '"a.b.example.com:5000"'],
  ["*.example.com:5000", "a.b.example.com", '"a.b.example.com"'],
  ["*.example.com", "a.example.com:5000", '"a.example.com:5000"'],
  ["*.example.com/team", "a.b.example.com/other", undefined],
  ["*.example.com", "example.com", undefined],
  ["*.example.com", "a.b.example.org", undefined],
  ["a.example.com", "b.a.example.com", undefined],
] as const)
  test(`F54: ${warned === undefined ? "accepts" : "warns of"} ${registry} beside protected ${protect}`, () => {
    const about = (original: Keys) =>
      lines(mergeKeys(original, { [registry]: "x:y" }, { protect: [protect] })).filter((line) =>
        line.includes("is not protected"),
      );
    assert.deepEqual(about({ [registry]: "x:y" }), []);
    assert.equal(about({}).length, warned === undefined ? 0 : 1);
    assert.ok(
      about({})
        .join()
        .endsWith(
          warned === undefined ? "" : `protect ${warned} too if that registry needs protection`,
        ),
    );
  });

test("F54: does not warn about an entry that is not written", () => {
  const registry = "a.b.example.com";
  const merged = mergeKeys(
    { [registry]: "o:o" },
    { [registry]: "x:y" },
    { protect: ["*.example.com"], conflicts: "original" },
  );
  assert.doesNotMatch(lines(merged).join(), /is not protected/);
});

test("F54: accepts a value that protects at least one registry", () => {
  for (const name of [
    "Quay.io",
    "quay.io:443",
    "quay.io:0443",
    "quay.io:05000",
    "*.io",
    "*.*",
    "docker.io",
    "docker.io/nginx",
    "index.docker.io",
    "https://index.docker.io/v1/",
    "https://index.docker.io/v1",
    "[fc00::3]:5000",
    "10.0.0.1:5000/team",
    "*:5000",
    "localhost",
  ])
    assert.equal(protectable(name), name);
});

test("writes canonical output: sorted at every level, one padded auth per registry, the original's other keys", () => {
  const rest = {
    zeta: { b: [2, { d: 1, c: null }], a: "ä" },
    credHelpers: { "x.io": "ecr" },
    "10": true,
    "2": false,
    // By code unit, as every language sorts, and not by the language of the reader.
    Zeta: { é: 1, f: 2, _: 3, Z: 4 },
  };
  const registries = { "b.io": "us:pa", "a.io:5000": "u:p", "a.io": "u:p", "a-a.io": "u:p" };
  const original = source(registries, "original", rest);
  assert.equal(
    canonical(
      merge([{ id: "original", accepted: original }], {
        conflicts: "additional",
        protect: [],
      }) as Extract<Merged, { ok: true }>,
    ),
    '{"10":true,"2":false,"Zeta":{"Z":4,"_":3,"f":2,"é":1},"auths":{"a-a.io":{"auth":"dTpw"},' +
      '"a.io":{"auth":"dTpw"},"a.io:5000":{"auth":"dTpw"},"b.io":{"auth":"dXM6cGE="}},' +
      '"credHelpers":{"x.io":"ecr"},"zeta":{"a":"ä","b":[2,{"c":null,"d":1}]}}',
  );
});

test("finds no source of a registry that it does not list, whatever an object's names are", () => {
  const merged = mergeKeys({ "a.io": "u:p" }, {});
  assert.ok(merged.ok);
  const written = JSON.stringify(sourcesOf(merged));
  const sources = [sourcesOf(merged), ...[written, "", "{", "null", "[]"].map(readSources)];
  for (const [at, read] of sources.entries()) {
    assert.equal(read["a.io"], at < 2 ? "original" : undefined);
    for (const name of ["constructor", "toString", "__proto__"])
      assert.equal(read[name], undefined, name);
  }
});

/** An original's entry, and how it is written for the nodes. */
const originalEntries: readonly (readonly [why: string, entry: unknown, written: string])[] = [
  ["an empty entry hides the host's entry from CRI-O, and has no auth", {}, "{}"],
  ["null means the same as an empty entry to the kubelet and to CRI-O", null, "{}"],
  ["an entry with only an e-mail address means the same, too", { email: "e", auth: "" }, "{}"],
  [
    "CRI-O may depend on an identity token",
    { identitytoken: "t\u20ac" },
    '{"identitytoken":"t\u20ac"}',
  ],
  ["no program that reads this file uses a registry token", { registrytoken: "t" }, "{}"],
  ["a password without user", { password: "p" }, '{"auth":"OnA="}'],
  [
    "a token beside a password is not written",
    { auth: "dTpw", identitytoken: "t" },
    '{"auth":"dTpw"}',
  ],
];

test("accepts an original's entry without user and password, and reads back what it writes for the entry", () => {
  for (const [why, entry, written] of originalEntries) {
    const bytes = Buffer.from(
      JSON.stringify({ auths: { "a.io": entry, "b.io": { auth: "dTpw" } } }),
    );
    const original = parse(bytes, { name: "original", role: "original" });
    assert.ok(original.ok, why);
    const merged = merge([{ id: "original", accepted: original }], {
      conflicts: "additional",
      protect: [],
    });
    assert.ok(merged.ok, why);
    assert.equal(canonical(merged), `{"auths":{"a.io":${written},"b.io":{"auth":"dTpw"}}}`, why);
    const again = parse(Buffer.from(canonical(merged)), { name: "original", role: "original" });
    assert.ok(
      again.ok &&
        original.entries[0]?.credential.equals(again.entries[0]?.credential ?? assert.fail()),
      why,
    );
  }
});

test("H9: treats all spellings of a registry as one, and writes the winner's spelling", () => {
  const [api, bare] = ["https://a.io/v1", "a.io/v1"];
  for (const [conflicts, additional, expected] of [
    ["additional", "x:y", { [bare]: { auth: "eDp5" } }],
    ["original", "x:y", { [api]: { auth: "dTpw" } }],
    ["additional", "u:p", { [api]: { auth: "dTpw" } }],
  ] as const) {
    const merged = mergeKeys({ [api]: "u:p" }, { [bare]: additional }, { conflicts });
    assert.ok(merged.ok);
    assert.equal(canonical(merged), JSON.stringify({ auths: expected }));
  }
});

test("returns sources without a prototype, so that only real registries are found", () => {
  const sources = sourcesOf(mergeKeys({}, { "a.io": "u:p" }) as Extract<Merged, { ok: true }>);
  assert.equal(Object.getPrototypeOf(sources), null);
});

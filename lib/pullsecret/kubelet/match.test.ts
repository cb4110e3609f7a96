import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { explain, type Explanation } from "./match.ts";
import { repositoryOf } from "../registry/image.ts";
import { readAsKubelet } from "./kubelet.ts";

const hex = "0123456789abcdef".repeat(4);

const images: readonly (readonly [image: string, repository: string | undefined])[] = [
  ["nginx", "docker.io/library/nginx"],
  ["nginx:1.27", "docker.io/library/nginx"],
  ["org/app", "docker.io/org/app"],
  ["docker.io/nginx", "docker.io/library/nginx"],
  ["index.docker.io/org/app", "docker.io/org/app"],
  ["localhost/app", "localhost/app"],
  ["localhost:5000/app:x", "localhost:5000/app"],
  ["Host/app", "Host/app"],
  ["a_b.io/app", "a_b.io/app"],
  ["[::1]:5000/app", "[::1]:5000/app"],
  [`quay.io/org/app:1@sha256:${hex}`, "quay.io/org/app"],
  ["quay.io/org/App", undefined],
  ["quay.io/org//app", undefined],
  ["quay.io/org/app:", undefined],
  [`quay.io/org/app@sha256:${hex.slice(1)}`, undefined],
  [hex, undefined],
  ["", undefined],
];

test("looks up an image by host and path, and uses the host docker.io for Docker Hub's images", () => {
  for (const [image, repository] of images) assert.equal(repositoryOf(image), repository, image);
});

function run(keys: readonly string[], image: string): Explanation {
  const members = keys.map((key, index) => `${JSON.stringify(key)}:{"username":"u${index}"}`);
  const answer = explain(Buffer.from(`{"auths":{${members.join(",")}}}`), image, "file");
  assert.ok(answer !== undefined);
  return answer.explanation;
}

test("tries for each path of a registry only the credential of that path", () => {
  const keys = ["registry.example.com/team-a", "registry.example.com/team-b"];
  for (const key of keys) {
    const { tries, ignored } = run(keys, `${key}/app:1`);
    assert.deepEqual(
      tries.map(({ registry }) => registry),
      [key],
    );
    assert.deepEqual(
      ignored.map(({ registry }) => registry),
      keys.filter((other) => other !== key),
    );
  }
});

const lookups: readonly (readonly [
  keys: readonly string[],
  image: string,
  tries: readonly string[],
  why: string,
])[] = [
  [
    ["*.io", "a.io", "a.io/foo/bar", "a.io/foo"],
    "a.io/foo/bar/x",
    ["a.io/foo/bar", "a.io/foo", "a.io", "*.io"],
    "keys are tried backwards through the alphabet",
  ],
  [["a.io/foo"], "a.io/foobar/x", ["a.io/foo"], "a path matches as a plain prefix"],
  [["a.io"], "a.io:443/x", [], "ports are compared as texts"],
  [["*.io"], "b.a.io/x", [], "a star stays in its label"],
  [
    ["https://index.docker.io/v1/"],
    "nginx",
    ["https://index.docker.io/v1/"],
    "Docker Hub's own entry serves its images",
  ],
  [
    ["https://index.docker.io/v1/", "docker.io"],
    "nginx",
    ["docker.io"],
    "docker.io hides Docker Hub's own entry",
  ],
  [["https://index.docker.io/v1/", "*.io"], "nginx", ["*.io"], "*.io hides docker login's key"],
  [
    ["https://index.docker.io/v1/", "docker.io/org"],
    "nginx",
    ["https://index.docker.io/v1/"],
    "an entry for other images hides nothing",
  ],
  [
    ["registry-1.docker.io", "https://index.docker.io/v1/org"],
    "org/app",
    [],
    "entries that only resemble Docker Hub's serve nothing",
  ],
  [
    ["https://index.docker.io/v1/"],
    "localhost/x",
    ["https://index.docker.io/v1/"],
    "an image of a host without a dot falls back to Docker Hub's entry, too",
  ],
  [["https://index.docker.io/v1/"], "a.io/x", [], "other hosts do not fall back"],
  [["[::1]"], "[::1]/x", [], "brackets are a pattern"],
  [["[::1]:5000"], "[::1]:5000/x", ["[::1]:5000"], "brackets before a port are cut off"],
  [["[::A]"], "A/x", ["[::A]"], "a pattern in brackets matches one character"],
  [
    ["user@a.io", "a.io?x", "HTTPS://a.io"],
    "a.io/x",
    ["a.io?[redacted]", "[redacted]@a.io"],
    "the kubelet drops user and query, but not a scheme in capitals",
  ],
];

test("lists the entries in the order in which the kubelet tries them, and why it ignores others", () => {
  for (const [keys, image, tries, why] of lookups) {
    const explanation = run(keys, image);
    assert.deepEqual(
      explanation.tries.map(({ registry }) => registry),
      tries,
      why,
    );
    assert.equal(explanation.tries.length + explanation.ignored.length, keys.length, why);
    for (const { reason } of explanation.ignored) assert.notEqual(reason, "");
  }
});

test("has a text for every reason why an entry is not tried", () => {
  const keys = [
    "b.io",
    "a.io:443",
    "a.io/y",
    "a b.io",
    "HTTPS://a.io",
    "https://index.docker.io/v1/",
    "a.io",
  ];
  assert.deepEqual(
    Object.fromEntries(
      run(keys, "a.io/x").ignored.map(({ registry, reason }) => [registry, reason]),
    ),
    {
      "b.io": "another host",
      "a.io:443": "another port",
      "a.io/y": "another path",
      "a b.io": "not a registry: the kubelet skips it",
      "HTTPS://a.io": "no image name can match it",
      "https://index.docker.io/v1/": "serves only images of Docker Hub",
    },
  );
  const hub = run(["docker.io", "https://index.docker.io/v1/"], "nginx").ignored;
  assert.deepEqual(hub, [
    { registry: "https://index.docker.io/v1/", reason: "used only when no other entry matches" },
  ]);
});

/** The kubelet reads headers although it does not use them. */
const headers: readonly (readonly [headers: string, kind: string | undefined])[] = [
  ["null", undefined],
  ["{}", undefined],
  ['{"X":"y","Z":null}', undefined],
  ['{"X":1}', "notStringMap"],
  ['{"X":["y"]}', "notStringMap"],
  ["[]", "notStringMap"],
  ['"y"', "notStringMap"],
];
for (const [value, kind] of headers)
  test(`${kind === undefined ? "reads" : "drops"} a file with the headers ${value} as the kubelet does`, () => {
    for (const name of ["HttpHeaders", "httpheaders", "httpheader\u017f"]) {
      const file = readAsKubelet(
        Buffer.from(`{"auths":{"a.io":{"auth":"dTpw"}},"${name}":${value}}`),
      );
      assert.equal(file.ok ? undefined : file.kind, kind, name);
    }
  });

test("shows no secret of a key, whether the entry is tried, ignored or in a dropped file", () => {
  const keys = ["u:pl4nted@a.io", "u:pl4nted@b.io"];
  const shown = ["[redacted]@a.io", "[redacted]@b.io"];
  const { tries, ignored } = run(keys, "a.io/x");
  assert.deepEqual(
    [...tries, ...ignored].map(({ registry }) => registry),
    shown,
  );
  const auths = Object.fromEntries(keys.map((key) => [key, { auth: "%" }]));
  const dropped = explain(Buffer.from(JSON.stringify({ auths })), "a.io/x", "file");
  assert.deepEqual(
    dropped?.explanation.ignored.map(({ registry }) => registry),
    shown,
  );
});

/** Two credentials under two keys of one registry, and the order in which they are tried. */
for (const [what, first, second, order] of [
  ["the same credential", "u:p", "u:p", [1, 2]],
  ["two users with one password", "u:p", "v:p", [1, 1]],
  ["one user with two passwords", "u:p", "u:q", [1, 1]],
] as const)
  test(`numbers the entries of one registry as the kubelet tries them: ${what}`, () => {
    const auths = { "a.io": { auth: btoa(first) }, "https://a.io": { auth: btoa(second) } };
    const answer = explain(Buffer.from(JSON.stringify({ auths })), "a.io/x", "file");
    assert.deepEqual(
      answer?.explanation.tries.map((entry) => entry.order),
      order,
    );
  });

test("explains each entry of a file that the kubelet drops", () => {
  const answer = explain(
    Buffer.from('{"auths":{"a.io":{"auth":"dTpw"},"b.io":{"auth":"%"}}}'),
    "a.io/x",
    "config.json",
  );
  assert.deepEqual(answer?.explanation.tries, []);
  const reason = 'the kubelet drops the whole file: auths["b.io"].auth: not base64';
  assert.deepEqual(answer?.explanation.ignored, [
    { registry: "a.io", reason },
    { registry: "b.io", reason },
  ]);
  assert.equal(answer?.dropped?.path, 'auths["b.io"].auth');
});

/** The result of Go's encoding/json: user names by key, or undefined if it reports an error. */
const files: readonly (readonly [
  text: string | Buffer,
  users: Record<string, string> | undefined,
  why: string,
])[] = [
  ["null", {}, "null is empty"],
  ["[]", undefined, "a list is an error"],
  ['{"AUTHS":{"a":{"USERNAME":"u"}}}', { a: "u" }, "names in any case"],
  ['{"auth\u017f":{"a":{"u\u017fername":"u"}}}', { a: "u" }, "names with U+017F for s"],
  [
    '{"auths":{"a":{"username":"u"}},"auths":{"b":{"username":"v"}}}',
    { a: "u", b: "v" },
    "several auths objects are merged",
  ],
  ['{"auths":{"a":{"username":"u"}},"auths":null}', {}, "null discards earlier entries"],
  ['{"auths":{"a":{"username":"u"},"a":{}}}', { a: "" }, "the last entry counts"],
  [
    '{"auths":{"a":{"username":"u","username":null,"Username":"v"}}}',
    { a: "v" },
    "the last field that is not null counts",
  ],
  ['{"auths":{"a":{"auth":"","username":"u"}}}', { a: "u" }, "empty auth counts as none"],
  ['{"auths":{"\\ud800":{"username":"u"}}}', { "\ufffd": "u" }, "half a pair becomes U+FFFD"],
  [
    Buffer.from('{"auths":{"\xe2\x82":{"username":"u"}}}', "latin1"),
    { "\ufffd\ufffd": "u" },
    "each bad byte becomes U+FFFD",
  ],
  ['\ufeff{"auths":{}}', undefined, "a byte order mark is an error"],
  ['{"auths":{"a":{"email":5}}}', undefined, "a field of a wrong type is an error"],
  ['{"x":1e999}', {}, "a number in an unknown field does not matter"],
  [`{"x":${"[".repeat(9_999)}${"]".repeat(9_999)}}`, {}, "10,000 levels are accepted"],
  [`{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`, undefined, "10,001 levels are an error"],
];

test("reads a file as Go reads it", () => {
  for (const [text, users, why] of files) {
    const read = readAsKubelet(Buffer.from(text));
    const pairs = read.ok
      ? read.entries.map(({ key, username }) => [key, username.toString()])
      : undefined;
    assert.deepEqual(pairs && Object.fromEntries(pairs), users, why);
  }
});

/** The first and the last character of each row of Unicode's table 3-7, of well-formed UTF-8. */
const characters = [
  "\u0080 \u07ff \u0800 \u0fff \u1000 \ucfff \ud000 \ud7ff \ue000 \uffff",
  "\u{10000} \u{3ffff} \u{40000} \u{fffff} \u{100000} \u{10ffff}",
].flatMap((text) => text.split(" "));
/** Bytes just outside these rows: wrong first bytes, wrong second bytes, and characters cut off. */
const malformed = [
  "80 bf c1bf c2c0 e09fbf eda080 edbfbf e1c0bf ec80c0 eec080 efbfc0",
  "f08fbfbf f1c08080 f3bfbfc0 f48f80 f4908080 f5808080 ff",
  "c2 df e0a0 e180 ecbf ed9f ee80 efbf f090 f09080 f18080 f3bf f48fbf",
].flatMap((row) => row.split(" ").map((text) => Buffer.from(text, "hex")));

test("law: reads each bad byte as one U+FFFD, and keeps every character beside it, as Go does", () => {
  const whole = fc
    .constantFrom(...characters)
    .map((text) => ({ bytes: Buffer.from(text), read: text }));
  const bad = fc
    .constantFrom(...malformed)
    .map((bytes) => ({ bytes, read: "\ufffd".repeat(bytes.length) }));
  // A letter ends each part. Otherwise a bad part and its neighbour could be one character.
  const parts = fc.array(fc.oneof(whole, bad), { minLength: 1, maxLength: 6 });
  const isRead = (all: readonly Readonly<{ bytes: Buffer; read: string }>[]) => {
    const key = Buffer.concat(all.flatMap(({ bytes }) => [bytes, Buffer.from("x")]));
    const [head, rest] = ['{"auths":{"', '":{"username":"u"}}}'].map((text) => Buffer.from(text));
    const read = readAsKubelet(Buffer.concat([head ?? key, key, rest ?? key]));
    const keys = read.ok ? read.entries.map((entry) => entry.key) : [];
    assert.deepEqual(keys, [all.map((part) => `${part.read}x`).join("")]);
  };
  const lastByte = { bytes: Buffer.from("ff", "hex"), read: "\ufffd" };
  for (const text of characters) isRead([{ bytes: Buffer.from(text), read: text }, lastByte]);
  for (const bytes of malformed) isRead([{ bytes, read: "\ufffd".repeat(bytes.length) }]);
  fc.assert(fc.property(parts, isRead));
});

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
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

test("looks up an image by host and path, with docker.io for Docker Hub's", () => {
  for (const [image, repository] of images) assert.equal(repositoryOf(image), repository, image);
});

function run(keys: readonly string[], image: string): Explanation {
  const members = keys.map((key, index) => `${JSON.stringify(key)}:{"username":"u${index}"}`);
  const answer = explain(Buffer.from(`{"auths":{${members.join(",")}}}`), image, "file");
  assert.ok(answer !== undefined);
  return answer.explanation;
}

test("pulls each image of two paths of one registry with its own credential", () => {
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
    "backwards through the alphabet",
  ],
  [["a.io/foo"], "a.io/foobar/x", ["a.io/foo"], "a path is a plain prefix"],
  [["a.io"], "a.io:443/x", [], "ports are texts"],
  [["*.io"], "b.a.io/x", [], "a star stays in its label"],
  [
    ["https://index.docker.io/v1/"],
    "nginx",
    ["https://index.docker.io/v1/"],
    "Docker Hub's own entry",
  ],
  [
    ["https://index.docker.io/v1/", "docker.io"],
    "nginx",
    ["docker.io"],
    "which anything else hides",
  ],
  [["https://index.docker.io/v1/", "*.io"], "nginx", ["*.io"], "a wildcard too"],
  [
    ["https://index.docker.io/v1/", "docker.io/org"],
    "nginx",
    ["https://index.docker.io/v1/"],
    "if it matches",
  ],
  [
    ["registry-1.docker.io", "https://index.docker.io/v1/org"],
    "org/app",
    [],
    "what looks like Docker Hub but is not",
  ],
  [
    ["https://index.docker.io/v1/"],
    "localhost/x",
    ["https://index.docker.io/v1/"],
    "a host without a dot falls back as well",
  ],
  [["https://index.docker.io/v1/"], "a.io/x", [], "others do not"],
  [["[::1]"], "[::1]/x", [], "brackets are a pattern"],
  [["[::1]:5000"], "[::1]:5000/x", ["[::1]:5000"], "with a port they are cut off first"],
  [["[::A]"], "A/x", ["[::A]"], "the pattern matches one of its characters"],
  [
    ["user@a.io", "a.io?x", "HTTPS://a.io"],
    "a.io/x",
    ["a.io?[redacted]", "[redacted]@a.io"],
    "user and query are dropped, the scheme is not",
  ],
];

test("explains the kubelet's tries in its order, and every other entry with a reason", () => {
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

test("explains a file that the kubelet drops entry by entry", () => {
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
  ["[]", undefined, "a list is not"],
  ['{"AUTHS":{"a":{"USERNAME":"u"}}}', { a: "u" }, "names in any case"],
  ['{"auth\u017f":{"a":{"u\u017fername":"u"}}}', { a: "u" }, "and with U+017F for s"],
  [
    '{"auths":{"a":{"username":"u"}},"auths":{"b":{"username":"v"}}}',
    { a: "u", b: "v" },
    "objects add up",
  ],
  ['{"auths":{"a":{"username":"u"}},"auths":null}', {}, "null starts again"],
  ['{"auths":{"a":{"username":"u"},"a":{}}}', { a: "" }, "the last entry counts"],
  [
    '{"auths":{"a":{"username":"u","username":null,"Username":"v"}}}',
    { a: "v" },
    "and the last field that is not null",
  ],
  ['{"auths":{"a":{"auth":"","username":"u"}}}', { a: "u" }, "empty auth counts as none"],
  ['{"auths":{"\\ud800":{"username":"u"}}}', { "\ufffd": "u" }, "half a pair becomes U+FFFD"],
  [
    Buffer.from('{"auths":{"\xe2\x82":{"username":"u"}}}', "latin1"),
    { "\ufffd\ufffd": "u" },
    "so does each bad byte",
  ],
  ['\ufeff{"auths":{}}', undefined, "a byte order mark is an error"],
  ['{"auths":{"a":{"email":5}}}', undefined, "a mistyped field drops all"],
  ['{"x":1e999}', {}, "a number that is not looked at does not"],
  [`{"x":${"[".repeat(9_999)}${"]".repeat(9_999)}}`, {}, "10,000 levels"],
  [`{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`, undefined, "one more"],
];

test("reads a file as Go reads it", () => {
  for (const [text, users, why] of files) {
    const read = readAsKubelet(Buffer.from(text));
    const found = read.ok
      ? read.entries.map(({ key, username }) => [key, username.toString()])
      : undefined;
    assert.deepEqual(found && Object.fromEntries(found), users, why);
  }
});

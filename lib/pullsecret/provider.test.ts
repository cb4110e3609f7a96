import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { script, providerConfig, rowsFor } from "./provider.fixture.ts";
import { answerOf, entriesOf, judgeConfig, whyUnanswerable } from "./provider.ts";

const everyHost = rowsFor([]);

test("covers all hosts without a port by shared rows, and each host with a port by a separate row", () => {
  assert.equal(everyHost.length, 8);
  assert.deepEqual(
    rowsFor(["b.io:5000/team", "a.io", "https://b.io:5000/v1/", "[::1]:80", "*.c.io:1"]),
    [...everyHost, "*.c.io:1", "b.io:5000"],
  );
});

const serving: readonly (readonly [key: string, rows: readonly string[], served: boolean])[] = [
  ["a.io", everyHost, true],
  ["https://index.docker.io/v1/", everyHost, true],
  ["a.io/team/app", everyHost, true],
  ["*.a.io", everyHost, true],
  ["a.b.c.d.e.f.g.io", everyHost, true],
  ["a.b.c.d.e.f.g.h.io", everyHost, false],
  ["a.io:5000", everyHost, false],
  ["a.io:5000", rowsFor(["a.io:5000"]), true],
  ["a.io:5001", rowsFor(["a.io:5000"]), false],
  ["a.io", ["b.io"], false],
  ["*.io", ["a.io"], false],
  ["a.io/team", ["a.io/team"], true],
  ["a.io", ["a.io/team"], false],
  ["[::1]:5000", rowsFor(["[::1]:5000"]), false],
];
for (const [key, rows, served] of serving)
  test(`an entry of ${key} is ${served ? "" : "not "}served by ${rows.length} rows up to ${rows.at(-1)}`, () =>
    assert.equal(whyUnanswerable(key, { auth: "dTpw" }, rows) === undefined, served));

test("states that no provider is run for an IPv6 address, whatever the rows are", () => {
  for (const rows of [everyHost, [], ["[::1]:5000"]])
    assert.match(whyUnanswerable("[::1]:5000", { auth: "dTpw" }, rows) ?? "", /an IPv6 address$/);
});

test("does not answer with a user or password that JSON cannot hold as text", () => {
  for (const bytes of [
    [0x75, 0x3a, 0xff],
    [0xff, 0x3a, 0x75],
  ]) {
    const auth = Buffer.from(bytes).toString("base64");
    assert.match(whyUnanswerable("a.io", { auth }, everyHost) ?? "", /UTF-8/);
  }
});

test("answers an entry without user and password with empty texts, whatever it is", () => {
  for (const entry of [null, undefined, {}, { auth: null }, { auth: "" }, { email: "e" }]) {
    assert.equal(whyUnanswerable("a.io", entry, everyHost), undefined);
    const { auth } = JSON.parse(answerOf(new Map([["a.io", entry]])).toString()) as {
      auth: object;
    };
    assert.deepEqual(auth, { "a.io": { username: "", password: "" } });
  }
});

test("reads no entries from what is not an answer", () => {
  for (const text of [
    "",
    "null",
    "[]",
    "{}",
    '{"auth":null}',
    '{"auth":"abc"}',
    '{"auth":["abc"]}',
  ])
    assert.equal(entriesOf(Buffer.from(text)).size, 0, text);
});

test("answers with user and password of each entry, and with the same bytes for the same entries", () => {
  const entries: readonly (readonly [string, object])[] = [
    ["b.io", { auth: "dTpwOng=" }],
    ["a.io", { username: "u", password: "p" }],
  ];
  const answer = answerOf(new Map(entries));
  assert.deepEqual(JSON.parse(answer.toString()), {
    apiVersion: "credentialprovider.kubelet.k8s.io/v1",
    kind: "CredentialProviderResponse",
    cacheKeyType: "Image",
    cacheDuration: "0s",
    auth: { "a.io": { username: "u", password: "p" }, "b.io": { username: "u", password: "p:x" } },
  });
  assert.deepEqual(answerOf(new Map(entries.toReversed())), answer);
});

const ours = (scope: "All" | "Annotated") =>
  JSON.parse(providerConfig(["a.io:5000"], scope)) as Record<string, unknown> & {
    providers: Record<string, unknown>[];
  };
const judgeChanged = (change: object, scope: "All" | "Annotated" = "All") =>
  judgeConfig(Buffer.from(JSON.stringify({ ...ours(scope), ...change })), scope);
const withProvider = (change: object) => ({
  providers: [{ ...ours("All").providers[0], ...change }],
});

test("accepts each of our own configurations only for its own scope", () => {
  for (const scope of ["All", "Annotated"] as const) {
    const bytes = Buffer.from(providerConfig(["a.io:5000"], scope));
    assert.deepEqual(judgeConfig(bytes, scope), { ok: true, rows: rowsFor(["a.io:5000"]) });
    assert.equal(judgeConfig(bytes, scope === "All" ? "Annotated" : "All").ok, false);
  }
});

test("refuses other attributes of the token than those of scope Annotated", () => {
  const [provider] = ours("Annotated").providers;
  const attributes = provider?.["tokenAttributes"] as Record<string, unknown>;
  const [first = "", ...rest] = Object.keys(attributes);
  const judged = (tokenAttributes: unknown) =>
    judgeChanged({ providers: [{ ...provider, tokenAttributes }] }, "Annotated");
  assert.ok(judged(Object.fromEntries(Object.entries(attributes).toReversed())).ok);
  for (const other of [
    undefined,
    null,
    [],
    { ...attributes, extra: "x" },
    { ...attributes, [first]: "other" },
    Object.fromEntries(rest.map((name) => [name, attributes[name]])),
  ]) {
    const { ok, ...more } = judged(other);
    assert.equal(ok, false);
    assert.match(JSON.stringify(more), /tokenAttributes are not those of scope Annotated/);
  }
});

const refused: readonly (readonly [change: object, why: RegExp])[] = [
  [{ apiVersion: "kubelet.config.k8s.io/v1beta1" }, /apiVersion/],
  [{ kind: "KubeletConfiguration" }, /kind/],
  [{ extra: 1 }, /field besides/],
  [{ providers: [] }, /exactly one/],
  [{ providers: [ours("All").providers[0], ours("All").providers[0]] }, /exactly one/],
  [{ providers: [ours("All").providers[0], "other"] }, /list of objects/],
  [withProvider({ name: "other" }), /name/],
  [withProvider({ apiVersion: "credentialprovider.kubelet.k8s.io/v1beta1" }), /apiVersion/],
  [withProvider({ defaultCacheDuration: "10m" }), /defaultCacheDuration/],
  [withProvider({ matchImages: [] }), /matchImages/],
  [withProvider({ args: ["x"] }), /field besides/],
];
test("accepts a configuration in which our provider stands beside others", () => {
  const providers = [{ name: "ecr-credential-provider", args: ["x"] }, ours("All").providers[0]];
  assert.deepEqual(judgeChanged({ providers }), { ok: true, rows: rowsFor(["a.io:5000"]) });
});

/** The kubelet takes a row literally, unlike a key of `auths`. */
const literally: readonly (readonly [row: string, key: string, served: boolean])[] = [
  ["https://a.io:5000", "a.io:5000", false],
  ["a.io:5000/", "a.io:5000", true],
  ["a.io/v2/", "a.io", false],
  ["user@a.io", "a.io", true],
  ["docker.io", "https://index.docker.io/v1/", true],
  ["index.docker.io", "docker.io", false],
];
for (const [row, key, served] of literally)
  test(`an entry of ${key} is ${served ? "" : "not "}served by the row ${row}`, () =>
    assert.equal(whyUnanswerable(key, { auth: "dTpw" }, [row]) === undefined, served));

for (const [change, why] of refused)
  test(`refuses a configuration: ${JSON.stringify(change).slice(0, 60)}`, () => {
    const judged = judgeChanged(change);
    assert.ok(!judged.ok);
    assert.match(judged.why, why);
  });

test("docs/use/delivery-node.md shows the script, the configuration and an empty answer unchanged", () => {
  const page = new URL("../../docs/use/delivery-node.md", import.meta.url);
  const shown = readFileSync(page, "utf8").replaceAll(/^ +/gm, "");
  for (const snippet of [script, providerConfig([], "All"), answerOf(new Map()).toString()])
    assert.ok(shown.includes(snippet.replaceAll(/^ +/gm, "")), snippet);
});

test("refuses a configuration that is not JSON", () => {
  assert.equal(judgeConfig(Buffer.from("{"), "All").ok, false);
  assert.equal(judgeConfig(Buffer.from("[]"), "All").ok, false);
});

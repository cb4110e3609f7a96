/**
 * Pull secrets as they occur in practice ("cases from the field"), alone and merged into a node's
 * file. The kubelet's own code shows which credentials a kubelet tries, and in which order.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readDocument, type NodeDocument } from "#agent/delivery/config-json/document.ts";
import { rivalsIn } from "#agent/delivery/config-json/rivals.ts";
import { overlay } from "#agent/delivery/config-json/overlay.ts";
import type { Content } from "#agent/journal/journal.ts";
import { canonical } from "#pullsecret/merge/canonical.ts";
import { merge, type MergePolicy } from "#pullsecret/merge/merge.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { ask, held } from "./oracle.ts";

type Case = Readonly<{
  id: string;
  additional?: string;
  original?: string;
  file?: string;
  conflict?: MergePolicy["conflicts"];
  image?: string;
  tries?: readonly string[];
  users?: readonly (readonly string[])[];
  invalid?: true;
  absent?: string;
}>;

const path = new URL("../../lib/pullsecret/vectors/field-cases.json", import.meta.url);
const cases = JSON.parse(readFileSync(path, "utf8")) as readonly Case[];

/** Returns the document that nodes get, or undefined if we refuse a source. */
function merged({ original, additional, conflict = "additional" }: Case): string | undefined {
  const sources = Object.entries({ additional, original }).flatMap(([id, text]) => {
    if (text === undefined) return [];
    const accepted = parse(Buffer.from(text), { name: id, role: id as "original" });
    return accepted.ok ? [{ id, accepted }] : [undefined];
  });
  if (sources.includes(undefined)) return undefined;
  const all = merge(
    sources.filter((source) => source !== undefined),
    { conflicts: conflict, protect: [] },
  );
  assert.ok(all.ok);
  return canonical(all);
}

/**
 * For each file and image: `user:password` of every credential that the kubelet tries, and whether
 * the order of the credentials is random.
 */
async function asked(questions: readonly (readonly [file: string, image: string])[]) {
  const answers = await ask(
    questions.map(([file, image]) => ({ file: Buffer.from(file), images: [image] })),
  );
  return answers.map(({ parses, lookups: [lookup] }) => ({
    parses,
    name: lookup?.name,
    varies: lookup?.varies === true,
    tries: (lookup?.tries ?? []).map((credential) => {
      const [, user = "", password = ""] = credential.split("/");
      return [user, password].map((hex) => Buffer.from(hex, "hex").toString()).join(":");
    }),
  }));
}

test("asked() decodes a credential from the form that held() returns", async () => {
  const [answer] = await asked([['{"auths":{"a.io":{"auth":"dTpw"}}}', "a.io/x"]]);
  assert.deepEqual(answer, { parses: true, name: "a.io/x", varies: false, tries: ["u:p"] });
  assert.equal(held(Buffer.from("u"), Buffer.from("p")), "/75/70");
});

test("records for each case from the field which credentials the kubelet tries", async () => {
  const rows = cases.flatMap((fieldCase) => {
    const file = fieldCase.file ?? merged(fieldCase);
    return fieldCase.image === undefined || file === undefined
      ? []
      : [{ one: fieldCase, file, image: fieldCase.image }];
  });
  const answers = await asked(rows.map(({ file, image }) => [file, image]));
  for (const [at, { one: fieldCase }] of rows.entries()) {
    const { name, varies, tries } = answers[at] ?? assert.fail();
    assert.equal(name === undefined, fieldCase.invalid === true, fieldCase.id);
    const groups = fieldCase.users ?? [];
    const isDrawn = fieldCase.id === "F52" || groups.some(({ length }) => length > 1);
    assert.equal(varies, isDrawn, `${fieldCase.id}: the order`);
    if (fieldCase.tries !== undefined)
      assert.deepEqual(isDrawn ? tries.toSorted() : tries, fieldCase.tries, fieldCase.id);
    else if (fieldCase.invalid !== true && fieldCase.absent === undefined) {
      const users = tries.map((pair) => pair.replace(/:.*/s, ""));
      assert.deepEqual(isDrawn ? users.toSorted() : users, groups.flat(), fieldCase.id);
    }
  }
  assert.ok(rows.length > 50, `${rows.length} cases`);
});

/** A key, an image, and whether the kubelet tries the key for the image. */
const capitals: readonly (readonly [key: string, image: string, tried: boolean])[] = [
  ["myRegistry.azurecr.io", "myRegistry.azurecr.io/a", true],
  ["myRegistry.azurecr.io", "myregistry.azurecr.io/a", false],
  ["myregistry.azurecr.io", "myRegistry.azurecr.io/a", false],
  ["https://A.io/v2/", "A.io/x", true],
  ["[FC00::3]:5000", "[FC00::3]:5000/a", true],
  ["[FC00::3]:5000", "[fc00::3]:5000/a", false],
  ["Registry", "Registry/a", true],
  ["*.A.io", "x.A.io/a", true],
  ["a.io:05000", "a.io:05000/x", true],
  ["a.io:05000", "a.io:5000/x", false],
  ["a.io/Team", "a.io/team/x", false],
];

test("F20, F24: serves an image only if image and key have the same capital letters", async () => {
  const answers = await asked(
    capitals.map(([key, image]) => [`{"auths":{"${key}":{"auth":"dTpw"}}}`, image]),
  );
  for (const [at, [key, image, tried]] of capitals.entries()) {
    const { name, tries } = answers[at] ?? assert.fail();
    assert.notEqual(name, undefined, image);
    assert.equal(tries.length > 0, tried, `${key} for ${image}`);
    // parse() keeps an entry only if an image can match its key. It always keeps the entry of
    // good.io.
    const auths = { [key]: { auth: "dTpw" }, "good.io": { auth: "dTpw" } };
    const parsed = parse(Buffer.from(JSON.stringify({ auths })), { name: "a", role: "additional" });
    assert.ok(parsed.ok);
    assert.equal(parsed.entries.length, key === "a.io/Team" ? 1 : 2, key);
  }
});

const hubKey = "https://index.docker.io/v1/";
const pair = (name: string) => ({ auth: Buffer.from(`${name}:${name}`).toString("base64") });
type Users = Readonly<Record<string, string>>;
const fileOf = (users: Users) =>
  JSON.stringify({
    auths: Object.fromEntries(Object.entries(users).map(([key, user]) => [key, pair(user)])),
  });

function read(text: string): NodeDocument {
  const reading = readDocument(Buffer.from(text));
  assert.ok(reading.kind === "document");
  return reading.document;
}

function contentOf(users: Users): Content {
  const entries = Object.entries(users).map(([key, user]) => ({
    key,
    raw: JSON.stringify(pair(user)),
    original: false,
    place: "file" as const,
  }));
  return { revision: 1, digest: "one", entries, rest: [] };
}

/**
 * The node's own entries, our entries, an image, and the credentials that the kubelet tries for
 * this image while our entries are in the file.
 */
const nodes: readonly (readonly [theirs: Users, ours: Users, image: string, tried: string])[] = [
  ...[hubKey, "docker.io", "index.docker.io", "https://docker.io"].flatMap((their) =>
    [hubKey, "docker.io"].map(
      (mine) => [{ [their]: "theirs" }, { [mine]: "ours" }, "org/app", "ours"] as const,
    ),
  ),
  [{ "quay.io": "t1", "https://quay.io": "t2" }, { "quay.io": "ours" }, "quay.io/a", "ours"],
  [
    { "quay.io": "t1", "https://quay.io": "t2" },
    { "quay.io/a": "ours" },
    "quay.io/a",
    "ours t1 t2",
  ],
  [{ "quay.io": "t1", "https://quay.io": "t2" }, { "b.io": "ours" }, "quay.io/a", "t1 t2"],
  [{ "quay.io/v1/": "t" }, { "quay.io": "o1", "https://quay.io": "o2" }, "quay.io/a", "o1 o2"],
  [{ [hubKey]: "t" }, { [hubKey]: "o1", "index.docker.io": "o2" }, "nginx", "o1 o2"],
  [{ "Quay.io": "t" }, { "quay.io": "ours" }, "Quay.io/a", "t"],
  [{ "docker.io/library": "t" }, { [hubKey]: "ours" }, "nginx", "t"],
];

test("B04, F52: makes the kubelet try our entries, and makes it try the node's own entries again after ours are removed", async () => {
  const rows = nodes.map(([theirs, ours, image, tried]) => {
    const before = { bytes: Buffer.from(fileOf(theirs)), mode: 0o600 };
    const [file, last] = [contentOf(ours), contentOf({})].map((content) => {
      const made = overlay(before, content);
      return "bytes" in made ? made.bytes.toString() : "";
    });
    return { image, tried, first: fileOf(theirs), file: file ?? "", last: last ?? "" };
  });
  const [first, between, last] = await Promise.all([
    asked(rows.map((row) => [row.first, row.image])),
    asked(rows.map((row) => [row.file, row.image])),
    asked(rows.map((row) => [row.last, row.image])),
  ]);
  for (const [at, { file, tried }] of rows.entries()) {
    const users = (answer: (typeof first)[number] | undefined) =>
      (answer?.tries ?? []).map((text) => text.replace(/:.*/, ""));
    const now = users(between[at]);
    const isDrawn = between[at]?.varies === true;
    assert.deepEqual(isDrawn ? now.toSorted() : now, tried.split(" "), file);
    assert.deepEqual(users(last[at]).toSorted(), users(first[at]).toSorted(), file);
  }
});

/**
 * The key of our entry, the key of another program's entry, an image that both keys match, and
 * whether the kubelet tries the other program's entry first.
 */
const rivals: readonly (readonly [ours: string, theirs: string, image: string, first: boolean])[] =
  [
    ["quay.io", "quay.io/team", "quay.io/team/a", true],
    ["quay.io/team", "quay.io", "quay.io/team/a", false],
    ["quay.io", "*.io", "quay.io/a", false],
    ["*.io", "quay.io", "quay.io/a", true],
    [hubKey, "docker.io/org", "org/app", true],
    [hubKey, "*.io", "nginx", true],
    ["docker.io", "*.io", "nginx", false],
    ["a.io", "https://a.io/v1/x", "a.io/x/y", true],
    ["a.io", "user:pw@a.io/x", "a.io/x/y", true],
  ];

test("B04: reports another program's entry exactly if the kubelet tries this entry before ours", async () => {
  const files = rivals.map(([ours, theirs]) => fileOf({ [ours]: "ours", [theirs]: "theirs" }));
  const answers = await asked(rivals.map(([, , image], at) => [files[at] ?? "", image]));
  for (const [at, [ours, theirs, image, first]] of rivals.entries()) {
    assert.equal(
      rivalsIn(read(files[at] ?? ""), contentOf({ [ours]: "ours" })) !== undefined,
      first,
      theirs,
    );
    assert.equal(
      answers[at]?.tries[0],
      first ? "theirs:theirs" : "ours:ours",
      `${theirs}, ${image}`,
    );
  }
});

/** The one way in which config.json is made, and what the agent learns from other programs. */
import assert from "node:assert/strict";
import test from "node:test";
import { contentWith, entry } from "#agent/facts/facts.fixture.ts";
import { type Content, type File, noContent } from "#agent/journal/journal.ts";
import { credentialOf } from "./document.ts";
import { isSameFile, learn, overlay } from "./overlay.ts";

const file = (text: string, mode = 0o600): File => ({ bytes: Buffer.from(text), mode });
const absent: File = { absent: true };
const textOf = (made: File) => ("absent" in made ? "absent" : made.bytes.toString());
const modeOf = (made: File) => ("absent" in made ? 0 : made.mode);
const auth = (password: string) => `{"auth":"${Buffer.from(`u:${password}`).toString("base64")}"}`;
const auths = (...entries: readonly string[]) => `{"auths":{${entries.join(",")}}}`;
const at = (key: string, password: string) => `"${key}":${auth(password)}`;
const ours = contentWith(1, entry("a.io", "ours"));
const isOurs = (_key: string, value: unknown) => credentialOf(value)[1] === "ours";

const overlays: readonly (readonly [name: string, theirs: File, content: Content, text: string])[] =
  [
    ["makes a file where there is none", absent, ours, auths(at("a.io", "ours"))],
    ["makes no file for nothing", absent, noContent, "absent"],
    ["returns an unreadable file byte for byte without ours", file("{,"), noContent, "{,"],
    ["puts ours in place of an unreadable file", file("{,"), ours, auths(at("a.io", "ours"))],
    [
      "replaces every spelling of a registry, and keeps the order of the others",
      file(auths(at("https://a.io", "x"), at("z.io", "z"), at("a.io", "x"), at("b.io", "b"))),
      ours,
      auths(at("z.io", "z"), at("a.io", "ours"), at("b.io", "b")),
    ],
    [
      "B04: lays our https://index.docker.io/v1/ over others' docker.io",
      file(auths(at("docker.io", "x"))),
      contentWith(1, entry("https://index.docker.io/v1/", "ours")),
      auths(at("https://index.docker.io/v1/", "ours")),
    ],
    [
      "leaves out an entry because of which the kubelet would ignore the file",
      file('{"auths":{"bad.io":{"auth":"!"}},"psFormat":1.0}'),
      ours,
      `{"auths":{${at("a.io", "ours")}},"psFormat":1.0}`,
    ],
    [
      "keeps the bytes if nothing changes",
      file(`{ ${auths(at("a.io", "ours")).slice(1)}`),
      ours,
      `{ ${auths(at("a.io", "ours")).slice(1)}`,
    ],
    [
      "removes others' entries for images that the provider serves, and writes none of ours",
      file(auths(at("https://a.io", "x"), at("z.io", "z"))),
      { ...ours, entries: [{ ...entry("a.io", "ours"), place: "answer" }] },
      auths(at("z.io", "z")),
    ],
    [
      "keeps others' entries beside the provider",
      file(auths(at("https://a.io", "x"))),
      { ...ours, entries: [{ ...entry("a.io", "ours"), place: "beside" }] },
      auths(at("https://a.io", "x")),
    ],
  ];

for (const [name, theirs, content, expected] of overlays)
  test(name, () => assert.equal(textOf(overlay(theirs, content)), expected));

test("lets only the owner read a file with ours, and gives the mode back without ours", () => {
  const theirs = file(auths(), 0o644);
  assert.equal(modeOf(overlay(theirs, ours)), 0o600);
  assert.equal(modeOf(overlay(theirs, noContent)), 0o644);
  const same = file(auths(at("a.io", "ours")), 0o644);
  assert.equal(modeOf(overlay(same, ours)), 0o600, "also if the other program has written ours");
});

const both = auths(at("a.io", "ours"), at("b.io", "b"));
const theirs = file(auths(at("https://a.io", "hidden"), at("b.io", "b")));

const lessons: readonly (readonly [name: string, present: string, theirs: string])[] = [
  ["changes nothing if only our entry changes back", auths(at("b.io", "b")), textOf(theirs)],
  ["keeps an unreadable file out of it", "{,", textOf(theirs)],
  [
    "learns a new entry",
    auths(at("a.io", "ours"), at("b.io", "b"), at("c.io", "c")),
    auths(at("https://a.io", "hidden"), at("b.io", "b"), at("c.io", "c")),
  ],
  ["learns a deleted entry", auths(at("a.io", "ours")), auths(at("https://a.io", "hidden"))],
  [
    "learns an entry in place of ours",
    auths(at("a.io", "new"), at("b.io", "b")),
    auths(at("https://a.io", "hidden"), at("b.io", "b"), at("a.io", "new")),
  ],
  [
    "does not take a copy of ours for theirs",
    auths(at("a.io", "ours"), at("b.io", "b"), at("https://a.io", "ours")),
    textOf(theirs),
  ],
];

for (const [name, present, expected] of lessons)
  test(`from another program's write, ${name}`, () => {
    const learned = learn(theirs, ours, file(present), isOurs);
    assert.equal(textOf(learned), expected);
    assert.equal(learn(learned, ours, file(present), isOurs), learned, "there is nothing more");
  });

const firstLessons: typeof lessons = [
  ["learns nothing if only our entry is gone", auths(), "absent"],
  ["learns an entry beside ours", both, auths(at("b.io", "b"))],
];

for (const [name, present, expected] of firstLessons)
  test(`where there was no file, ${name}`, () =>
    assert.equal(textOf(learn(absent, ours, file(present), isOurs)), expected));

test("learns an empty file where there was none and nothing of ours is over it", () => {
  assert.equal(textOf(learn(absent, noContent, file("{}"), isOurs)), "{}");
});

test("learns that the file was removed, and a new mode", () => {
  assert.equal(learn(theirs, ours, absent, isOurs), absent);
  assert.equal(learn(absent, ours, { absent: true }, isOurs), absent);
  assert.equal(modeOf(learn(theirs, ours, file(both, 0o640), isOurs)), 0o640);
});

test("takes an unreadable file for theirs if nothing of ours is over it", () => {
  const damaged = file("{,");
  assert.equal(learn(theirs, noContent, damaged, isOurs), damaged);
});

test("compares files by bytes and mode", () => {
  assert.ok(isSameFile(absent, { absent: true }));
  assert.ok(!isSameFile(absent, file("")));
  assert.ok(!isSameFile(file("", 0o600), file("", 0o644)));
});

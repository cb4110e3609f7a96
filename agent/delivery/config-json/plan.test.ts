/**
 * Laws of the node's file: entries of other programs are never lost, whatever the file contained,
 * and whatever we write, in any order.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { readAsKubelet } from "#pullsecret/kubelet/kubelet.ts";
import { match } from "#pullsecret/kubelet/match.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { aliases, digest } from "./compare.ts";
import { readDocument } from "./document.ts";
import { type File, firstJournal, type Journal } from "#agent/journal/journal.ts";
import type { Rewrite } from "../delivery.ts";
import type { Document } from "../mount.ts";
import { foundOf, type Present } from "./plan.ts";

const hubKey = "https://index.docker.io/v1/";
// Spellings of each registry that serve the same images. The first spelling is ours.
const spellings = [
  ["a.io", "https://a.io", "a.io/v1/", "http://a.io/v2/"],
  ["b.io:5000/team", "https://b.io:5000/team"],
  ["*.c.io", "https://*.c.io"],
  ["d.io"],
  [hubKey, "index.docker.io", "docker.io", "https://docker.io/v1/"],
] as const;

const password = fc.string({ minLength: 1, maxLength: 6 });
const entry = fc.oneof(
  password.map((text) => ({ auth: Buffer.from(`u:${text}`).toString("base64") })),
  fc.record({ username: password, password, email: password }),
  fc.constant(null),
  fc.constant({
    auth: Buffer.from("u:p").toString("base64"),
    note: 12_345_678_901_234_567_890n.toString(),
  }),
);
const theirs = fc.dictionary(
  fc.constantFrom(...spellings.flat(), "constructor", "no url at all"),
  entry,
);
const rest = fc.dictionary(
  fc.constantFrom("HttpHeaders", "psFormat", "toString"),
  fc.constantFrom({ a: "b" }, {}, null),
);
const text = fc
  .tuple(theirs, rest, fc.constantFrom(undefined, "\t", 2), fc.boolean())
  .map(
    ([auths, top, indent, newline]) =>
      JSON.stringify({ ...top, auths }, undefined, indent) + (newline ? "\n" : ""),
  );
const broken = fc.constantFrom(
  "",
  "{",
  "[]",
  "null",
  '{"auths":[]}',
  '{"auths":{"a.io":{"auth":"!"},"d.io":{"auth":"dTpw"}}}',
);
const file = fc.option(fc.oneof({ weight: 5, arbitrary: text }, { weight: 1, arbitrary: broken }), {
  nil: undefined,
});

/** We can own Docker Hub under both names, and a registry of the original in two spellings. */
const registries = [...spellings.map(([first]) => first), "docker.io", "https://a.io"];
const ours = fc.dictionary(
  fc.constantFrom(...registries),
  fc.record({ password, original: fc.boolean() }),
);
const additional = fc
  .dictionary(fc.constantFrom(...registries), password)
  .filter((passwords) => Object.keys(passwords).length > 0);

function presentFile(bytes: string | undefined, mode = 0o600): Present {
  if (bytes === undefined) return { kind: "absent", identity: "", document: readOrFail("{}") };
  const reading = readDocument(Buffer.from(bytes));
  assert.equal(reading.kind, "document");
  assert.ok(reading.kind === "document");
  const { document, invalid } = reading;
  return {
    kind: "file",
    identity: "",
    bytes: Buffer.from(bytes),
    mode,
    document,
    invalid,
    digest: "",
  };
}

function readOrFail(bytes: string) {
  const reading = readDocument(Buffer.from(bytes));
  assert.ok(reading.kind === "document");
  return reading.document;
}

function mounted(
  entries: Readonly<Record<string, { password: string; original: boolean }>>,
): Document {
  const desired = Object.entries(entries).map(
    ([key, { password: secret, original }]) =>
      [
        key,
        { value: { auth: Buffer.from(`ours:${secret}`).toString("base64") }, original },
      ] as const,
  );
  const release = desired.every(([, { original }]) => original);
  const document = { kind: "document", revision: 1, digest: "", content: "" } as const;
  return {
    ...document,
    desired: { entries: new Map(desired), rest: new Map() },
    intent: release ? "release" : "apply",
  };
}

function onlyAdditional(entries: Readonly<Record<string, string>>): Document {
  return mounted(
    Object.fromEntries(
      Object.entries(entries).map(([key, password]) => [key, { password, original: false }]),
    ),
  );
}

/** The agent's result: the new file and the new journal. */
function apply(
  bytes: string | undefined,
  journal: Journal | undefined,
  document: Document,
  mode?: number,
) {
  const planned = foundOf(presentFile(bytes, mode)).plan(journal, document, false);
  const next: Journal = {
    ...(journal ?? firstJournal(planned.before)),
    owned: planned.owned,
  };
  return { planned, bytes: planned.changed ? textOf(planned.file) : bytes, journal: next };
}

function textOf(file: File): string | undefined {
  return "absent" in file ? undefined : file.bytes.toString();
}

const nothing = mounted({});

test("H20: a release restores the file's exact bytes and mode, or removes the file, whatever was applied and however often", () => {
  fc.assert(
    fc.property(file, fc.array(additional, { minLength: 1, maxLength: 4 }), (before, revisions) => {
      let bytes = before;
      let journal: Journal | undefined;
      for (const revision of revisions)
        ({ bytes, journal } = apply(bytes, journal, onlyAdditional(revision)));
      const last = apply(bytes, journal, nothing);
      assert.equal(last.bytes, before);
      if (!("absent" in last.planned.file)) assert.equal(last.planned.file.mode, 0o600);
    }),
  );
});

test("changes nothing when the same content is applied twice, and leaves exactly one entry for each of our registries", () => {
  fc.assert(
    fc.property(file, ours, (before, revision) => {
      const document = mounted(revision);
      fc.pre(document.intent === "apply");
      const once = apply(before, undefined, document);
      const twice = apply(once.bytes, once.journal, document);
      assert.equal(twice.planned.changed, false);
      assert.deepEqual(twice.journal, once.journal);
      const now = readOrFail(once.bytes ?? "{}");
      for (const [key, { value }] of document.desired.entries) {
        const names = [...document.desired.entries.keys()].filter(
          (name) => imagesOf(name) === imagesOf(key),
        );
        assert.deepEqual(aliases(now, key).toSorted(), names.toSorted());
        assert.equal(digest(now.auths.get(key)), digest(value));
      }
    }),
  );
});

test("keeps entries and top-level keys of other programs through apply and release", () => {
  fc.assert(
    fc.property(text, ours, ours, (before, first, second) => {
      const start = readOrFail(before);
      const firstResult = apply(before, undefined, mounted(first));
      const two = apply(firstResult.bytes, firstResult.journal, mounted(second));
      const mine = new Set(
        [...Object.keys(first), ...Object.keys(second)].map((key) => imagesOf(key)),
      );
      const now = readOrFail(two.bytes ?? "{}");
      for (const [key, value] of start.auths)
        if (!mine.has(imagesOf(key))) assert.deepEqual(now.auths.get(key), value);
      assert.deepEqual(now.rest, start.rest);
    }),
  );
});

test("H18: a rollback restores the exact bytes of the previous revision", () => {
  fc.assert(
    fc.property(file, fc.option(additional, { nil: undefined }), ours, (before, first, second) => {
      let bytes = before;
      let journal: Journal | undefined;
      if (first !== undefined) ({ bytes, journal } = apply(bytes, journal, onlyAdditional(first)));
      const former = presentFile(bytes);
      const { planned, bytes: failed, journal: next } = apply(bytes, journal, mounted(second));
      const undo = {
        file: foundOf(former).now,
        owned: (journal ?? next).owned,
        revision: 0,
        content: "",
      };
      if (journal === undefined) undo.owned = { entries: [], rest: [] };
      const back = foundOf(presentFile(failed)).planRestore({
        ...next,
        owned: planned.owned,
        undo,
      });
      assert.equal(back.changed ? textOf(back.file) : failed, bytes);
    }),
  );
});

test("keeps an entry through the release if another program added it while ours were in force", () => {
  fc.assert(
    fc.property(file, additional, entry, (before, revision, value) => {
      const result = apply(before, undefined, onlyAdditional(revision));
      const now = readOrFail(result.bytes ?? "{}");
      const theirs = JSON.stringify({
        auths: { ...Object.fromEntries(now.auths), "new.io": value },
      });
      const after = readOrFail(apply(theirs, result.journal, nothing).bytes ?? "{}");
      assert.equal(JSON.stringify(after.auths.get("new.io")), JSON.stringify(value));
      for (const key of Object.keys(revision)) {
        const now = Object.fromEntries(
          aliases(after, key).map((alias) => [alias, after.auths.get(alias)]),
        );
        const then = readOrFail(before ?? "{}");
        assert.deepEqual(
          now,
          Object.fromEntries(aliases(then, key).map((alias) => [alias, then.auths.get(alias)])),
        );
      }
    }),
  );
});

const theirEntry = { auth: "dTp0aGVpcnM=" };

/** The passwords that the kubelet tries for an image of Docker Hub. */
function triedForHub(bytes: string | undefined): string[] {
  const read = readAsKubelet(Buffer.from(bytes ?? "{}"));
  assert.ok(read.ok);
  const { tries } = match(read.entries, "docker.io/org/app");
  return tries.flat().map(({ password }) => password.toString());
}

for (const mine of [hubKey, "docker.io"])
  for (const their of [hubKey, "docker.io", "index.docker.io", "https://docker.io"])
    test(`B04: uses our entry for Docker Hub as ${mine}, and restores the other program's as ${their}`, () => {
      const before = JSON.stringify({ auths: { "z.io": theirEntry, [their]: theirEntry } });
      const firstResult = apply(before, undefined, onlyAdditional({ [mine]: "x" }));
      assert.deepEqual(triedForHub(firstResult.bytes), ["x"]);
      // Another program overwrites our entry. The next revision uses Docker Hub's other name.
      const over = JSON.stringify({ auths: { [their]: theirEntry, "z.io": theirEntry } });
      const two = apply(over, firstResult.journal, onlyAdditional({ [mine]: "x" }));
      assert.deepEqual(triedForHub(two.bytes), ["x"]);
      const other = mine === hubKey ? "docker.io" : hubKey;
      for (const names of [{ [mine]: "y", [other]: "y" }, { [other]: "z" }]) {
        const next = apply(two.bytes, two.journal, onlyAdditional(names));
        assert.deepEqual(triedForHub(next.bytes), Object.values(names).slice(0, 1));
        const last = apply(next.bytes, next.journal, nothing);
        assert.deepEqual(JSON.parse(last.bytes ?? ""), JSON.parse(before));
      }
    });

test("replaces the entry of a program that overwrote ours, and restores that entry on release", () => {
  const result = apply(undefined, undefined, onlyAdditional({ "a.io": "x" }));
  const over = JSON.stringify({ auths: { "https://a.io": theirEntry } });
  const again = apply(over, result.journal, onlyAdditional({ "a.io": "x" }));
  assert.deepEqual(JSON.parse(again.bytes ?? ""), { auths: { "a.io": { auth: "b3Vyczp4" } } });
  assert.equal(apply(again.bytes, again.journal, nothing).bytes, over);
});

test("recognizes a former value of ours that another program restores from its own copy", () => {
  const firstResult = apply(undefined, undefined, onlyAdditional({ "a.io": "old" }));
  const two = apply(firstResult.bytes, firstResult.journal, onlyAdditional({ "a.io": "new" }));
  const back = apply(firstResult.bytes, two.journal, onlyAdditional({ "a.io": "new" }));
  assert.equal(back.bytes, two.bytes);
  assert.equal(apply(back.bytes, back.journal, nothing).bytes, undefined);
});

test("recognizes our credential in another form or spelling, and never restores it in a release", () => {
  const result = apply(undefined, undefined, onlyAdditional({ "a.io": "x" }));
  const forms = { ...auth("x"), email: "a@b.c" };
  const drifts: readonly (readonly [key: string, entry: object])[] = [
    ["a.io", forms],
    ["a.io", { username: "ours", password: "x" }],
    ["https://a.io/v1/", auth("x")],
    ["https://a.io", { auth: "", username: "ours", password: "x", email: "" }],
  ];
  for (const [key, entry] of drifts) {
    const drifted = JSON.stringify({ auths: { [key]: entry, "z.io": theirEntry } });
    const repaired = apply(drifted, result.journal, onlyAdditional({ "a.io": "x" }));
    assert.equal(repaired.planned.matters, key !== "a.io");
    const rest = { auths: { "z.io": theirEntry } };
    assert.deepEqual(
      JSON.parse(apply(repaired.bytes, repaired.journal, nothing).bytes ?? ""),
      rest,
    );
    assert.deepEqual(JSON.parse(apply(drifted, result.journal, nothing).bytes ?? ""), rest);
  }
  const more = JSON.stringify({ auths: { "a.io": { ...auth("x"), identitytoken: "theirs" } } });
  const reapplied = apply(more, result.journal, onlyAdditional({ "a.io": "x" }));
  assert.equal(apply(reapplied.bytes, reapplied.journal, nothing).bytes, more);
});

test("keeps a rotated original on release if the node had that original before our first change, and removes other originals", () => {
  const before = JSON.stringify({ auths: { "a.io": theirEntry } });
  const both = {
    "a.io": { password: "1", original: true },
    "d.io": { password: "1", original: true },
  };
  const firstResult = apply(
    before,
    undefined,
    mounted({ ...both, "*.c.io": { password: "x", original: false } }),
  );
  const after = apply(
    firstResult.bytes,
    firstResult.journal,
    mounted({ ...both, "a.io": { password: "2", original: true } }),
  );
  assert.deepEqual(JSON.parse(after.bytes ?? ""), {
    auths: { "a.io": { auth: Buffer.from("ours:2").toString("base64") } },
  });
});

test("considers only changed credentials relevant for the kubelet, not e-mail addresses or white space", () => {
  const same = JSON.stringify({ auths: { "a.io": { ...auth("x"), email: "a@b.c" } } });
  assert.equal(apply(same, undefined, onlyAdditional({ "a.io": "x" })).planned.matters, false);
  assert.equal(apply(same, undefined, onlyAdditional({ "a.io": "y" })).planned.matters, true);
});

function modeAfter(planned: Rewrite): number | undefined {
  return "absent" in planned.file ? undefined : planned.file.mode;
}

/** Applies, records the mode as the agent does, and returns file and journal. */
function applied(
  bytes: string | undefined,
  journal: Journal | undefined,
  document: Document,
  mode?: number,
) {
  const result = apply(bytes, journal, document, mode);
  return { ...result, journal: { ...result.journal, left: result.planned.fileMode } };
}

test("removes other users' rights on a file with our entries, and restores its mode on removal or rollback", () => {
  const before = JSON.stringify({ auths: { "z.io": theirEntry } });
  for (const mode of [0o644, 0o640, 0o600, 0o400]) {
    const firstResult = applied(before, undefined, onlyAdditional({ "a.io": "x" }), mode);
    const ownerMode = mode & ~0o077;
    assert.equal(modeAfter(firstResult.planned), ownerMode);
    const two = applied(
      firstResult.bytes,
      firstResult.journal,
      onlyAdditional({ "a.io": "y" }),
      ownerMode,
    );
    assert.equal(modeAfter(two.planned), ownerMode);
    const gone = apply(two.bytes, two.journal, nothing, ownerMode);
    assert.deepEqual([gone.bytes, modeAfter(gone.planned)], [before, mode]);
    const undo = { file: foundOf(presentFile(before, mode)).now, owned, revision: 0, content: "" };
    const back = foundOf(presentFile(firstResult.bytes, ownerMode)).planRestore({
      ...firstResult.journal,
      undo,
    });
    assert.equal(modeAfter(back), mode);
  }
});

const owned = { entries: [], rest: [] };

test("keeps an administrator's chmod while our entries are in force, but gives other users no rights until our entries are removed", () => {
  const before = JSON.stringify({ auths: { "z.io": theirEntry } });
  const document = onlyAdditional({ "a.io": "x" });
  const result = applied(before, undefined, document, 0o644);
  const strict = apply(result.bytes, result.journal, nothing, 0o400);
  assert.equal(modeAfter(strict.planned), 0o400);
  const opened = applied(result.bytes, result.journal, document, 0o640);
  assert.deepEqual(
    [opened.planned.changed, opened.planned.matters, opened.bytes, modeAfter(opened.planned)],
    [true, false, result.bytes, 0o600],
  );
  const again = applied(opened.bytes, opened.journal, document, 0o600);
  assert.equal(again.planned.changed, false);
  const gone = apply(opened.bytes, opened.journal, nothing, 0o600);
  assert.deepEqual([gone.bytes, modeAfter(gone.planned)], [before, 0o640]);
});

test("creates a removed file again with our mode, or 0600 if none is recorded", () => {
  const before = JSON.stringify({ auths: { "z.io": theirEntry } });
  const firstResult = applied(before, undefined, onlyAdditional({ "a.io": "x" }), 0o644);
  const two = applied(
    firstResult.bytes,
    firstResult.journal,
    onlyAdditional({ "a.io": "y" }),
    0o600,
  );
  assert.equal(
    modeAfter(apply(undefined, two.journal, onlyAdditional({ "a.io": "y" })).planned),
    0o600,
  );
  assert.equal(
    modeAfter(apply(undefined, firstResult.journal, onlyAdditional({ "a.io": "y" })).planned),
    0o600,
  );
  const { left: _left, ...older } = firstResult.journal;
  assert.equal(modeAfter(apply(undefined, older, onlyAdditional({ "a.io": "y" })).planned), 0o600);
  assert.equal(
    modeAfter(apply(undefined, undefined, onlyAdditional({ "a.io": "y" })).planned),
    0o600,
  );
});

test("after the journal was lost, treats every entry that is not from the original as possibly ours", () => {
  const released = mounted({ "d.io": { password: "o", original: true } });
  const table: readonly (readonly [bytes: string | undefined, unexplained: boolean])[] = [
    [undefined, false],
    ['{"auths":{}}', false],
    [JSON.stringify({ auths: { "d.io": auth("o") } }), false],
    [JSON.stringify({ auths: { "d.io": auth("older") } }), true],
    [JSON.stringify({ auths: { "a.io": auth("x") } }), true],
    [JSON.stringify({ auths: {}, HttpHeaders: { a: "b" } }), true],
    ["{", true],
  ];
  for (const [bytes, unexplained] of table)
    assert.equal(foundOf(presentFile(bytes)).isUnexplained(released), unexplained, bytes);
});

function auth(password: string) {
  return { auth: Buffer.from(`ours:${password}`).toString("base64") };
}

test("without a journal, treats an entry as ours if it equals our additional entry in any spelling, but not if it equals an original", () => {
  const document = mounted({
    "a.io": { password: "x", original: false },
    "d.io": { password: "o", original: true },
  });
  const spelled: readonly (readonly [auths: object, isSame: boolean])[] = [
    [{ "a.io": auth("x") }, true],
    [{ "https://a.io": auth("x") }, false],
    [{ "a.io": { username: "ours", password: "x", email: "" } }, false],
  ];
  for (const lost of [true, false])
    for (const [mine, isSame] of spelled) {
      const auths = { ...mine, "d.io": auth("o"), "z.io": theirEntry };
      const bytes = JSON.stringify({ auths });
      const planned = foundOf(presentFile(bytes)).plan(undefined, document, lost);
      assert.equal(planned.changed, !isSame);
      const now = "absent" in planned.file ? "" : planned.file.bytes.toString();
      const journal = { ...firstJournal(planned.before), owned: planned.owned };
      const after = JSON.parse(apply(now, journal, nothing).bytes ?? "");
      assert.deepEqual(after, { auths: { "d.io": auth("o"), "z.io": theirEntry } });
    }
});

test("removes our credentials from an older copy that another program restores", () => {
  const theirs = { "z.io": theirEntry };
  const text = (auths: object) => JSON.stringify({ auths: { ...theirs, ...auths } });
  const first = apply(text({}), undefined, onlyAdditional({ "a.io": "x", "b.io": "x" }));
  // The Secret loses a registry, and a login tool writes back the file that it had read before.
  const second = apply(first.bytes, first.journal, onlyAdditional({ "b.io": "x" }));
  for (const copy of [
    first.bytes,
    text({ "https://a.io": auth("x"), "b.io": auth("x") }),
    text({ "a.io": { username: "ours", password: "x" }, "b.io": auth("x") }),
  ]) {
    const third = apply(copy, second.journal, onlyAdditional({ "b.io": "x" }));
    assert.deepEqual(JSON.parse(third.bytes ?? ""), JSON.parse(second.bytes ?? ""));
    const gone = apply(copy, third.journal, nothing);
    assert.deepEqual(JSON.parse(gone.bytes ?? ""), { auths: theirs });
  }
});

test("removes our credentials from a copy of a file that was rolled back", () => {
  const theirs = { "z.io": theirEntry, "c.io": auth("x") };
  const text = (auths: object) => JSON.stringify({ auths: { ...theirs, ...auths } });
  const first = apply(text({}), undefined, onlyAdditional({ "a.io": "x" }));
  const failed = apply(
    first.bytes,
    first.journal,
    // Our password for c.io is the same as in the node's own entry.
    onlyAdditional({ "a.io": "y", "b.io": "x", "c.io": "x" }),
  );
  const { revision, content, owned } = first.journal;
  const before = foundOf(presentFile(first.bytes));
  const undo = { file: before.now, owned, revision, content };
  const journal = { ...first.journal, owned: before.undone({ ...failed.journal, undo }) };
  const copies = [failed.bytes, text({ "https://a.io": auth("y"), "b.io": auth("x") })];
  for (const copy of copies) {
    const again = apply(copy, journal, onlyAdditional({ "a.io": "x" }));
    assert.deepEqual(JSON.parse(again.bytes ?? ""), JSON.parse(first.bytes ?? ""));
    const gone = apply(copy, again.journal, nothing);
    assert.deepEqual(JSON.parse(gone.bytes ?? ""), { auths: theirs });
  }
});

test("recognizes our values in a copy of the file from before nine or more rotations", () => {
  const before = JSON.stringify({ auths: { "z.io": theirEntry } });
  let last = apply(before, undefined, onlyAdditional({ "a.io": "p0" }));
  const copy = last.bytes;
  for (let count = 1; count <= 30; count += 1)
    last = apply(last.bytes, last.journal, onlyAdditional({ "a.io": `p${count}` }));
  const back = apply(copy, last.journal, onlyAdditional({ "a.io": "p30" }));
  assert.equal(back.bytes, last.bytes);
  assert.equal(apply(back.bytes, back.journal, nothing).bytes, before);
});

test("restores an entry that the node had before our first change, although we wrote the same value later", () => {
  const before = JSON.stringify({ auths: { "a.io": auth("x") } });
  const document = (...passwords: string[]) =>
    passwords.reduce(
      (last: ReturnType<typeof apply> | undefined, password) =>
        apply(
          last?.bytes ?? before,
          last?.journal,
          onlyAdditional({ "a.io": password, "b.io": "b" }),
        ),
      undefined,
    ) ?? assert.fail();
  const both = document("y", "x");
  const reduced = apply(both.bytes, both.journal, onlyAdditional({ "b.io": "b" }));
  const again = apply(reduced.bytes, reduced.journal, onlyAdditional({ "b.io": "b" }));
  assert.equal(again.planned.changed, false);
  assert.match(again.bytes ?? "", /"a\.io"/);
});

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { grantOf, keyOf, readGrant, mostRevision } from "./grant.ts";
import {
  lineOf,
  messageOf,
  parseMessage,
  type TerminationMessage,
  messageKinds,
} from "./termination-message.ts";

const word: TerminationMessage = {
  kind: "proved",
  grant: { revision: 7, digest: "d-_9", since: "2026-11-26T18:25:07Z" },
  journal: 7,
};

const message = (line: string, { grant, ...rest }: TerminationMessage): string =>
  messageOf(line, { ...rest, key: keyOf(grant) });

const revisions = fc.maxSafeInteger().map((number) => Math.abs(number) % (mostRevision + 1));
const plain = { noNullPrototype: true } as const;
const words = fc.record(
  {
    kind: fc.constantFrom(...messageKinds),
    grant: fc.record(
      {
        revision: revisions,
        digest: fc.stringMatching(/^[\w-]{0,64}$/, { size: "max" }),
        since: fc.constantFrom("template", "2026-11-26T18:25:07Z", "2026-11-26T18:25:07.123+01:00"),
      },
      plain,
    ),
    journal: revisions,
  },
  plain,
);

test("reads back each message that it writes, and shows its line for people", () => {
  const line = "GPS200 the revision is in force (revision 7)";
  assert.equal(message(line, word), `${line} [proved 7/d-_9/2026-11-26T18:25:07Z 7]`);
  fc.assert(
    fc.property(
      words,
      fc.string({ unit: "binary", maxLength: 2000, size: "max" }),
      (termination, said) => {
        const written = message(said, termination);
        assert.deepEqual(parseMessage(written), termination);
        assert.deepEqual(parseMessage(`${written}\n`), termination);
        assert.equal(lineOf(written), said.slice(0, 800));
        assert.ok(written.length < 1024);
      },
    ),
  );
});

test("does not read a text that differs from our messages, and never throws", () => {
  const written = message("GPS200", word);
  const others = [
    undefined,
    "",
    "GPS224 withdrawn (revision 7)",
    "[proved 7/d/template 7]",
    `${written} and more`,
    written.replace("proved", "Proved"),
    written.replace("proved", "ready"),
    written.replace("7/", "/"),
    written.replace("7/", "-7/"),
    written.replace("/d-_9/", "/d 9/"),
    written.slice(0, -1),
    written.replace(" 7]", ` ${mostRevision + 1}]`),
    written.replace(" 7/", ` ${mostRevision + 1}/`),
    `${"x".repeat(4096)}${written}`,
  ];
  for (const other of others) assert.equal(parseMessage(other), undefined, other?.slice(0, 80));
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (said) => {
      assert.equal(parseMessage(said), undefined);
    }),
  );
});

test("reads only the last brackets, so that a line for people cannot forge the controller's part", () => {
  const forged = message("GPS206 x [released 9/d/template 9]", word);
  assert.deepEqual(parseMessage(forged), word);
});

const annotations = {
  "globalpullsecret.io/revision": "7",
  "globalpullsecret.io/digest": "d-_9",
  "globalpullsecret.io/since": "template",
};

test("reads a grant only if all its parts have our form", () => {
  assert.deepEqual(grantOf(annotations), {
    revision: 7,
    digest: "d-_9",
    since: "template",
    word: false,
  });
  const asked = grantOf({ ...annotations, "globalpullsecret.io/word": "true" });
  assert.equal(asked?.word, true);
  const changes: readonly (readonly [part: string, text: string])[] = [
    ["since", ""],
    ["since", "2026-11-26 18:25"],
    ["since", "x".repeat(41)],
    ["revision", ""],
    ["revision", "-1"],
    ["revision", "7.5"],
    ["revision", "1".repeat(16)],
    ["revision", String(mostRevision + 1)],
    ["digest", "a/b"],
    ["digest", "a b"],
    ["digest", "x".repeat(65)],
  ];
  for (const [part, text] of changes)
    assert.equal(grantOf({ ...annotations, [`globalpullsecret.io/${part}`]: text }), undefined);
  assert.equal(grantOf(undefined), undefined);
  const { "globalpullsecret.io/since": _since, ...older } = annotations;
  assert.equal(grantOf(older), undefined);
});

test("names a grant by revision, digest and since", () => {
  const grant = readGrant({ revision: "7", digest: "", since: "template", word: "yes" });
  assert.equal(grant && keyOf(grant), "7//template");
  assert.equal(grant?.word, false);
});

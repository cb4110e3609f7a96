import assert from "node:assert/strict";
import { test } from "node:test";
import { anchorOf, helpIn, withHelp } from "#contract/help.ts";
import { errorsPage, sections } from "./errors.ts";
import { alternatives, byItself } from "./codes/by-itself.ts";
import { examples } from "./codes/examples.ts";
import { meanings } from "./codes/meanings.ts";

const all = sections.flatMap(({ catalogue }) => Object.values(catalogue));
const isBare = (code: string): boolean => Object.hasOwn(meanings, code);

/** Label → text, of the paragraphs that begin with a label in bold. */
const paragraphsOf = (text: string): Partial<Record<string, string>> =>
  Object.fromEntries(
    text.split("\n\n").flatMap((paragraph) => {
      const [, label, words] = /^\*\*(\w+)\*\*: ([^]*)$/.exec(paragraph.trim()) ?? [];
      return label === undefined ? [] : [[label, words]];
    }),
  );

test("states for each code what to do, or that no action is needed", () => {
  for (const [code, meaning, next] of all)
    for (const words of [meaning, next])
      assert.doesNotMatch(words, /^nothing[,;]|\b(?:is|are) meant\b/, code);
});

test("uses each code for one problem", () => {
  const codes = all.map(([code]) => code);
  assert.deepEqual(codes.toSorted(), [...new Set(codes)].toSorted());
});

test("gives every code an anchor, a title, an example, what happens next, and what to do", () => {
  const [, ...pageSections] = errorsPage().split(/^## /m);
  const anchors: string[] = [];
  for (const [index, section] of pageSections.entries()) {
    const [lead = "", ...parts] = section.split(/^### /m);
    const usual = paragraphsOf(lead);
    assert.ok(usual["See"] && usual["Next"], lead);
    for (const part of parts) {
      const [heading = "", ...paragraphs] = part.trimEnd().split("\n\n");
      const [, id, code = ""] =
        /^<a id="(gps\d{3})"><\/a>(GPS\d{3}): \S.*[^.]$/.exec(heading) ?? [];
      assert.equal(id, code.toLowerCase(), part);
      const own = paragraphsOf(paragraphs.join("\n\n"));
      assert.equal(own["Example"] !== undefined, /…/.test(heading) || isBare(code), part);
      for (const text of Object.values({ ...usual, ...own }) as string[])
        assert.match(text, /^(?:`[^…]+`|\S[^]*[.…?])$/, part);
      assert.ok(own["Do"] ?? usual["Do"], part);
      anchors.push(`docs/reference/errors.md#${id}`);
    }
    assert.equal(parts.length, Object.keys(sections[index]?.catalogue ?? {}).length);
  }
  assert.deepEqual(anchors.toSorted(), all.map(([code]) => anchorOf(code)).toSorted());
  assert.doesNotMatch(errorsPage(), /undefined/);
});

test("has no text about a code that no longer exists", () => {
  const codes = new Set<string>(all.map(([code]) => code));
  for (const texts of [byItself, alternatives, examples])
    for (const code of Object.keys(texts)) assert.ok(codes.has(code), code);
});

test("has a separate meaning for exactly the codes whose text in the catalogue is only {}", () => {
  const bare = all.filter(([, meaning]) => meaning === "{}").map(([code]) => code);
  assert.deepEqual(Object.keys(meanings), bare.toSorted());
});

test("ends a text with the help for its first code, in at most 200 characters, and keeps both ends", () => {
  assert.equal(helpIn("ready"), undefined);
  assert.equal(withHelp("ready"), "ready");
  assert.equal(
    withHelp("a: GPS305 failed; b: GPS218 rolled back"),
    "a: GPS305 failed; b: GPS218 rolled back [kubectl pull-secret help GPS305]",
  );
  const cut = withHelp(`GPS305 ${"x".repeat(2000)}: denied`);
  assert.equal(cut.length, 200);
  assert.match(cut, /^GPS305 x+…x+: denied \[kubectl pull-secret help GPS305\]$/);
});

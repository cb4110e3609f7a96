import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentCode } from "#contract/agent-codes.ts";
import { helpIn, helpOf, withHelp } from "#contract/help.ts";
import { errorsPage, sections } from "./errors.ts";
import { noAction, ofAgents } from "./codes/agents.ts";
import { general, ofPrograms } from "./codes/by-itself.ts";
import { meanings } from "./codes/meanings.ts";

const all = sections.flatMap(({ catalogue }) => Object.values(catalogue));

test("states for each code what to do, or that no action is needed", () => {
  for (const [code, meaning, next] of all)
    for (const words of [meaning, next])
      assert.doesNotMatch(words, /^nothing[,;]|\b(?:is|are) meant\b/, code);
});

test("uses each code for one problem", () => {
  const codes = all.map(([code]) => code);
  assert.deepEqual(codes.toSorted(), [...new Set(codes)].toSorted());
});

test("gives every code one anchor, a title, the product's own action, and the reader's action", () => {
  const [, ...pageSections] = errorsPage().split(/^## /m);
  const anchors: string[] = [];
  for (const [index, section] of pageSections.entries()) {
    const [lead = "", ...parts] = section.split(/^### /m);
    const isRuled = Object.values(general).some((rule) => textOf(lead).includes(rule));
    for (const part of parts) {
      const [heading = "", ...paragraphs] = part.trimEnd().split("\n\n");
      const [, id, code = ""] =
        /^<a id="(gps\d{3})"><\/a>(GPS\d{3}): \S.*[^.]$/.exec(heading) ?? [];
      assert.equal(id, code.toLowerCase(), part);
      const mark = "**By itself**: ";
      const [byItself, ...others] = paragraphs.filter((paragraph) => paragraph.startsWith(mark));
      assert.deepEqual(others, [], part);
      if (byItself === undefined) assert.ok(isRuled, `${id}: no action of the product`);
      else assert.match(byItself, /^\S+ \S+ [A-Z][^]*\.$/);
      const instructions = paragraphs.filter((paragraph) => !paragraph.startsWith("**"));
      assert.ok(instructions.length > 0 || needsNoAction(code), `${id}: no action of the reader`);
      for (const instruction of instructions) assert.match(instruction, /[.…?]$/);
      anchors.push(`docs/reference/errors.md#${id}`);
    }
    assert.equal(parts.length, Object.keys(sections[index]?.catalogue ?? {}).length);
  }
  assert.deepEqual(anchors.toSorted(), all.map(([code]) => helpOf(code)).toSorted());
  assert.doesNotMatch(errorsPage(), /undefined/);
});

/** The text without line breaks. */
const textOf = (lead: string) => lead.replaceAll(/\s+/g, " ");

const needsNoAction = (code: string) =>
  Object.hasOwn(ofAgents, code) && ofAgents[code as AgentCode][1] === noAction;

test("has no text about a code that no longer exists", () => {
  const codes = new Set<string>(all.map(([code]) => code));
  for (const code of [...Object.keys(ofAgents), ...Object.keys(ofPrograms)])
    assert.ok(codes.has(code), code);
});

test("has a separate meaning for exactly the codes whose text in the catalogue is only {}", () => {
  const bare = all.filter(([, meaning]) => meaning === "{}").map(([code]) => code);
  assert.deepEqual(Object.keys(meanings), bare.toSorted());
});

test("ends a text with the link for its first code, even if the text is cut", () => {
  assert.equal(helpIn("ready"), undefined);
  assert.equal(withHelp("ready", 10), "ready");
  assert.equal(
    withHelp("a: GPS305 failed; b: GPS218 rolled back", 1024),
    "a: GPS305 failed; b: GPS218 rolled back [docs/reference/errors.md#gps305]",
  );
  const cut = withHelp(`GPS305 ${"x".repeat(2000)}`, 1024);
  assert.equal(cut.length, 1024);
  assert.match(cut, /x… \[docs\/reference\/errors\.md#gps305\]$/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { helpIn, helpOf, withHelp } from "#contract/help.ts";
import { errorsPage, sections } from "./errors.ts";
import { ofAgents } from "./codes/agents.ts";
import { ofPrograms } from "./codes/by-itself.ts";
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

test("gives every code one anchor, the product's own action, and the reader's action", () => {
  const parts = errorsPage().split(/^### /m).slice(1);
  const anchors = parts.map(
    (part) => `docs/reference/errors.md#${part.split("\n")[0]?.toLowerCase()}`,
  );
  assert.deepEqual(anchors.toSorted(), all.map(([code]) => helpOf(code)).toSorted());
  for (const part of parts)
    assert.match(
      part,
      /^GPS\d{3}\n\n.+\n\n- \*\*By itself\*\*: [A-Z].+\.\n- \*\*You\*\*: .+[.…?]\n/s,
    );
  assert.doesNotMatch(errorsPage(), /undefined/);
});

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

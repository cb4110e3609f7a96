import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { messagesOf } from "./catalogue.ts";

test("law: a sentence is one line of at most 500 characters, whatever its detail is", () => {
  const action = "y".repeat(150);
  const { sentence } = messagesOf({ odd: ["GPS999", "refuses ({})", action] });
  const details = fc.oneof(
    fc.string({ unit: "binary", maxLength: 400 }),
    fc.nat(400).map((length) => "\u{10FFFF}".repeat(length)),
  );
  let cut = 0;
  fc.assert(
    fc.property(details, (detail) => {
      const text = sentence("odd", detail);
      assert.ok(text.startsWith("GPS999: refuses (") && text.length <= 500, `${text.length}`);
      assert.doesNotMatch(text, /[\p{Cc}\p{Zl}\p{Zp}]/u);
      if (!text.endsWith(action)) cut += 1;
    }),
  );
  assert.ok(cut > 0);
});

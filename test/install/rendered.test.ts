import assert from "node:assert/strict";
import { test } from "node:test";
import { rendered } from "#tools/install/render.ts";
import { textOf } from "#tools/install/yaml.ts";

test("each rendered file of manifests/ has the text that the chart renders: npm run render writes it", async () => {
  const texts = Object.entries(await rendered());
  assert.equal(texts.length, 6);
  for (const [file, text] of texts) assert.equal(textOf(file), text, file);
});

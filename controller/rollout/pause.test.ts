import assert from "node:assert/strict";
import { test } from "node:test";
import { globalSecret, newSalt, publishedDigest, readPublished } from "../objects/global-secret.ts";
import { noState } from "../objects/state.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import { heldByPause } from "./pause.ts";

const content = { document: '{"auths":{}}', sources: "{}", intent: "apply" } as const;
const before = { ...content, document: '{"auths":{"a.io":{"auth":"dTpw"}}}' };
const global = globalSecret({ ...content, salt: newSalt(), revision: 7 });
const published = readPublished(global);
const digest = published === undefined ? "" : publishedDigest(published);
const served = (revision: number) => ({ ...noState, served: { ...before, revision } });

/** What is there → the document that a pause holds; undefined where it has nothing to hold. */
const table: readonly (readonly [
  sentence: string,
  found: Partial<Parameters<typeof heldByPause>[1]>,
  document: string | undefined,
])[] = [
  ["what is published", {}, content.document],
  ["what is published, whatever was served", { state: served(7) }, content.document],
  [
    "what every node had, where the Secret is gone",
    { published: undefined, state: served(7) },
    before.document,
  ],
  [
    "what every node had, where the Secret holds other content under the template's number",
    { template: { revision: 7, digest: "another" }, state: served(7) },
    before.document,
  ],
  [
    "nothing, where the Secret is gone in mid-rollout",
    { published: undefined, state: served(6) },
    undefined,
  ],
  ["nothing, where nothing was ever served", { published: undefined }, undefined],
];
for (const [sentence, found, document] of table)
  test(`a pause holds ${sentence}`, () => {
    const template = { revision: 7, digest };
    const held = heldByPause({ global } as unknown as Snapshot, {
      published,
      state: noState,
      template,
      ...found,
    });
    assert.equal(held?.document, document);
  });

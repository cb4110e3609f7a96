import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { readManifests } from "./manifests.ts";

test("refuses a manifest that is not UTF-8", async () => {
  const text = '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"p\u00e4ss"}}';
  const ioOf = (bytes: Uint8Array) => ({
    read: async () => bytes,
    documents: async (content: string) => [JSON.parse(content)],
  });
  assert.equal((await readManifests("-", ioOf(Buffer.from(text)))).length, 1);
  await assert.rejects(readManifests("-", ioOf(Buffer.from(text, "latin1"))), {
    name: "Refused",
    message: "-: is not UTF-8",
  });
});

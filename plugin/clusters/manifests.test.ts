import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { readManifests } from "./manifests.ts";

const good = '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"p\u00e4ss"}}';
const read = async (bytes: Uint8Array) =>
  await readManifests("-", {
    read: async () => bytes,
    documents: async (text: string) => [JSON.parse(text)],
  });

test("reads the manifests of a document", async () =>
  assert.deepEqual(await read(Buffer.from(good)), [JSON.parse(good)]));

const incomplete = "has no apiVersion, kind and metadata.name; nothing is applied";
const list = (items: string) => `{"kind":"List","items":[${items}]}`;
for (const [what, bytes, message] of [
  ["that is not UTF-8", Buffer.from(good, "latin1"), "-: is not UTF-8"],
  ["that is not YAML", "pl4nted", "-: is not YAML"],
  ["above 4 MiB", good.padEnd(4 * 1024 * 1024), "-: is longer than 4 MiB; split it"],
  ["without objects", list(""), "-: holds no manifest (.yaml, .yml or .json)"],
  ["without a kind", good.replace("kind", "k"), `-: document 1: ${incomplete}`],
  ["without a version", good.replace("apiV", "v"), `-: document 1: ${incomplete}`],
  ["with an empty name", good.replace("p\u00e4ss", ""), `-: document 1: ${incomplete}`],
  ["with null", "null", `-: document 1: ${incomplete}`],
  ["with a bad item", list(`${good},{}`), `-: document 1, item 2: ${incomplete}`],
] as const)
  test(`refuses a manifest ${what}`, async () => {
    await assert.rejects(read(Buffer.from(bytes)), { name: "Refused", message });
  });

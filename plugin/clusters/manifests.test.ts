import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { readManifests } from "./manifests.ts";

const good = '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"p\u00e4ss"}}';
const read = async (bytes: Uint8Array, path = "-") =>
  await readManifests(path, {
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

test("reads a folder of a thousand files, and refuses a larger one", async (t) => {
  const folder = temporary(t);
  for (let index = 0; index < 1000; index += 1) writeFileSync(join(folder, `${index}.json`), "");
  const { length } = await read(Buffer.from(good), folder);
  assert.equal(length, 1000);
  writeFileSync(join(folder, "more.json"), "");
  const message = `${folder}: more than 1000 files`;
  await assert.rejects(read(Buffer.from(good), folder), { name: "Misuse", message });
});

/** On a real file system, in a temporary directory. */
import assert from "node:assert/strict";
import { chownSync, linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { needsRoot } from "#agent/files/needs.fixture.ts";
import { temporary } from "#test/temporary.ts";
import { readConfigFile } from "./config-json.ts";

const rows: readonly (readonly [what: string, make: (file: string) => void, why: RegExp])[] = [
  ["a directory", (file) => mkdirSync(file), /^it is not a regular file$/],
  [
    "a file with a second name",
    (file) => {
      writeFileSync(file, "{}");
      linkSync(file, `${file}.bak`);
    },
    /^it has 2 hard links$/,
  ],
  ["a file with odd keys", (file) => writeFileSync(file, '{"AUTHS":{}}'), /spelled "auths"$/],
  [
    "a file with too many values",
    (file) => writeFileSync(file, `{"x":[${"1,".repeat(30_000)}1]}`),
    /^it has \d+ values in \d+ bytes, more than the agent can hold$/,
  ],
];
for (const [what, make, why] of rows)
  test(`refuses to replace ${what}`, (t) => {
    const file = join(temporary(t), "config.json");
    make(file);
    const read = readConfigFile(file);
    assert.match(read.kind === "refused" ? read.why : read.kind, why);
  });

test("refuses to replace a file of another user", { skip: needsRoot }, (t) => {
  const file = join(temporary(t), "config.json");
  writeFileSync(file, "{}");
  chownSync(file, 12, 34);
  const why = "it belongs to 12:34, which the agent cannot keep; change the owner to 0:0";
  assert.deepEqual(readConfigFile(file), { kind: "refused", why });
});

test("tells a missing, a readable and an unreadable file apart", (t) => {
  const file = join(temporary(t), "config.json");
  const read = () => {
    const reading = readConfigFile(file);
    return reading.kind === "file" ? [Object.keys(reading.file), reading.unreadable] : reading;
  };
  assert.deepEqual(read(), [["absent"], undefined]);
  writeFileSync(file, "{}");
  assert.deepEqual(read(), [["bytes", "mode"], undefined]);
  writeFileSync(file, "{");
  assert.deepEqual(read(), [["bytes", "mode"], "it is not JSON"]);
});

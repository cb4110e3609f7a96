import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { makeFifo, needsFifo } from "../files/needs.fixture.ts";
import { contentOf } from "./hidden-files.ts";

const entry = '{"auth":"dTpw"}';

test("reads a file as missing, empty or with entries like the kubelet, and as unknown if it cannot be read", (t) => {
  const root = mkdtempSync(join(tmpdir(), "gps-candidates-"));
  t.after(() => rmSync(root, { recursive: true }));
  const file = join(root, "config.json");
  const rows: readonly (readonly [
    what: string,
    make: () => void,
    legacy: boolean,
    content: unknown,
  ])[] = [
    ["absent", () => {}, false, "none"],
    ["entries", () => writeFileSync(file, `{"AUTHS":{"a.io":${entry}}}`), false, "entries"],
    ["no entries", () => writeFileSync(file, "{}"), false, "empty"],
    ["not JSON", () => writeFileSync(file, "{"), false, "none"],
    [
      "one bad entry drops all",
      () => writeFileSync(file, `{"auths":{"a.io":${entry},"b.io":[]}}`),
      false,
      "none",
    ],
    ["legacy", () => writeFileSync(file, `{"a.io":${entry}}`), true, "entries"],
    ["legacy, and empty", () => writeFileSync(file, "{}"), true, "empty"],
    ["legacy, and no JSON", () => writeFileSync(file, "a.io"), true, "none"],
    ["a directory", () => mkdirSync(file), false, "none"],
    [
      "a link",
      () => symlinkSync("/etc/hostname", file),
      false,
      { unknown: "it is a symbolic link" },
    ],
    [
      "too large",
      () => writeFileSync(file, " ".repeat(300_000)),
      false,
      { unknown: "it has 300000 bytes" },
    ],
  ];
  for (const [what, make, legacy, content] of rows) {
    rmSync(file, { recursive: true, force: true });
    make();
    assert.deepEqual(contentOf(file, legacy), content, what);
  }
  writeFileSync(join(root, "plain"), "");
  assert.equal(contentOf(join(root, "plain", "config.json"), false), "none", "below a file");
});

test("counts a FIFO as missing, and does not wait for it", { skip: needsFifo }, (t) => {
  const root = mkdtempSync(join(tmpdir(), "gps-candidates-"));
  t.after(() => rmSync(root, { recursive: true }));
  makeFifo(join(root, "config.json"));
  assert.equal(contentOf(join(root, "config.json"), false), "none");
});

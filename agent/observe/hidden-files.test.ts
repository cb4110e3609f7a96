import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { podFiles } from "#contract/names.ts";
import { unit } from "../facts/facts.fixture.ts";
import { makeFifo, needsFifo } from "../files/needs.fixture.ts";
import { askHides, contentOf } from "./hidden-files.ts";

const entry = '{"auth":"dTpw"}';

test("judges like the kubelet whether a file is missing, empty or has entries, and reports an unreadable file", (t) => {
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

const entries = JSON.stringify({ "r.io": { auth: "YTpi" } });
const seen = JSON.stringify({ kind: "seen", files: { "/config.json": "entries" } });

/**
 * Columns: .dockercfg beside config.json, the first container's result, and the expected result for
 * --hidden-files Look, Skip and Ignore.
 */
const table = [
  ["none", undefined, "unknown", "nothing", "nothing"],
  ["none", seen, "file", "nothing", "nothing"],
  ["{}", undefined, "unknown", "nothing", "nothing"],
  ["no JSON", undefined, "unknown", "nothing", "nothing"],
  [entries, undefined, "unknown", "file", "nothing"],
  [entries, '{"kind":"ours"}', "nothing", "file", "nothing"],
  ["too large", undefined, "unknown", "unknown", "nothing"],
] as const;

test("checks .dockercfg beside config.json even without a search of the root directory", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gps-hides-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  for (const [nth, [beside, wrote, ...expected]] of table.entries()) {
    const kubeletDirectory = join(directory, String(nth));
    const podDirectory = join(kubeletDirectory, "pod");
    mkdirSync(podDirectory, { recursive: true });
    const text = beside === "too large" ? " ".repeat(256 * 1024 + 1) : beside;
    if (beside !== "none") writeFileSync(join(kubeletDirectory, ".dockercfg"), text);
    if (wrote !== undefined) writeFileSync(join(podDirectory, podFiles.hidden), wrote);
    const kinds: string[] = [];
    for (const hiddenFiles of ["Look", "Skip", "Ignore"] as const) {
      const config = { hiddenFiles, podDirectory, kubeletDirectory };
      const found = { workingDirectory: "/", user: "", environment: [], manager: [] };
      const systemd = { surroundings: () => Promise.resolve(found) };
      const hides = await askHides(config, systemd, unit);
      if (hiddenFiles === "Skip" && "what" in hides) assert.match(hides.what, /^\.dockercfg/);
      kinds.push(hides.kind);
    }
    assert.deepEqual(kinds, expected, `${beside.slice(0, 20)} ${wrote}`);
  }
});

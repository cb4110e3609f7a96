/** What a first config.json would hide, by what the first container wrote and the agent sees. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { podFiles } from "#contract/names.ts";
import { unit } from "../facts/facts.fixture.ts";
import { askHides } from "./fitness.ts";

const entries = JSON.stringify({ "r.io": { auth: "YTpi" } });
const seen = JSON.stringify({ kind: "seen", files: { "/config.json": "entries" } });

/** [.dockercfg in the kubelet's directory, what the first container wrote, Look, Skip, Ignore] */
const table = [
  ["none", undefined, "unknown", "nothing", "nothing"],
  ["none", seen, "file", "nothing", "nothing"],
  ["{}", undefined, "unknown", "nothing", "nothing"],
  ["no JSON", undefined, "unknown", "nothing", "nothing"],
  [entries, undefined, "unknown", "file", "nothing"],
  [entries, '{"kind":"ours"}', "nothing", "file", "nothing"],
  ["too large", undefined, "unknown", "unknown", "nothing"],
] as const;

test("judges .dockercfg beside config.json also when no root directory is searched", async (t) => {
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

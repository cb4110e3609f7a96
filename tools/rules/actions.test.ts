import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkActions } from "./actions.ts";

const commit = "0123456789abcdef0123456789abcdef01234567";
const rows: readonly (readonly [action: string, accepted: boolean])[] = [
  [`actions/checkout@${commit} # v5.1.0`, true],
  [`owner/name/folder@${commit} # v1.0.0`, true],
  [`actions/checkout@${commit}`, false],
  [`actions/checkout@${commit.slice(1)} # v5.1.0`, false],
  ["actions/checkout@v5", false],
  ["actions/checkout@main # v5.1.0", false],
  ["actions/checkout", false],
];

for (const [action, accepted] of rows)
  test(`${accepted ? "accepts" : "refuses"} the action ${action}`, (t) => {
    const root = mkdtempSync(join(tmpdir(), "actions-"));
    t.after(() => rmSync(root, { recursive: true }));
    mkdirSync(join(root, ".github/workflows"), { recursive: true });
    const text = `jobs:\n  test:\n    steps:\n      - uses: ${action}\n`;
    writeFileSync(join(root, ".github/workflows/test.yml"), text);
    assert.equal(checkActions(root).length, accepted ? 0 : 1);
  });

/**
 * How large the agent may be, room by room (docs/decisions/0048): it runs as root on every node, so
 * somebody must be able to read all of it. Lines of code, without comments, blank lines and tests.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { codeOf } from "./purity.ts";

const ceilings: Readonly<Record<string, number>> = {
  agent: 500,
  "agent/config": 170,
  "agent/decide": 450,
  "agent/delivery": 200,
  "agent/delivery/config-json": 560,
  "agent/delivery/provider": 580,
  "agent/facts": 320,
  "agent/files": 200,
  "agent/journal": 320,
  "agent/observe": 320,
  "agent/report": 340,
  "agent/restart": 460,
  "agent/systemd": 450,
};

/** A ceiling this far above its room is lowered. */
const slack = 100;

function linesOf(): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const file of globSync("agent/**/*.ts")) {
    if (/\.(?:test|fixture)\.ts$/.test(file)) continue;
    const code = codeOf(readFileSync(file, "utf8")).split("\n");
    const count = code.filter((line) => line.trim() !== "").length;
    lines.set(dirname(file), (lines.get(dirname(file)) ?? 0) + count);
  }
  return lines;
}

test("no room of the agent grows beyond its ceiling, and no ceiling is far above its room", () => {
  const lines = linesOf();
  assert.deepEqual([...lines.keys()].toSorted(), Object.keys(ceilings).toSorted());
  for (const [room, count] of lines) {
    const ceiling = ceilings[room] ?? 0;
    assert.ok(count <= ceiling, `${room}: ${count} lines; what does it do twice?`);
    assert.ok(count > ceiling - slack, `${room}: ${count} lines; lower its ceiling of ${ceiling}`);
  }
});

import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { auditEnd, auditOf } from "./audit.ts";

const line = (name: string, second: number) =>
  `${JSON.stringify({
    verb: "get",
    requestURI: `/é/${name}`,
    user: { username: "u" },
    objectRef: { name },
    requestReceivedTimestamp: `2026-01-01T00:00:0${second}.000000Z`,
  })}\n`;

test("reads all complete lines of the audit log when lines are added or cut off, or the file is replaced", (t) => {
  const folder = temporary(t);
  const cluster = { auditLog: join(folder, "audit.log") };
  const names = (how?: Parameters<typeof auditOf>[1]) =>
    auditOf(cluster, how).map(({ name }) => name);
  writeFileSync(cluster.auditLog, line("a", 1) + line("b", 2));
  assert.deepEqual(names(), ["a", "b"]);
  const after = auditEnd(cluster);
  const [half, rest] = [line("c", 3).slice(0, 40), line("c", 3).slice(40)];
  appendFileSync(cluster.auditLog, half);
  assert.deepEqual(names(), ["a", "b"]);
  appendFileSync(cluster.auditLog, `${rest}no line of it\n${line("d", 4)}`);
  assert.deepEqual(names(), ["a", "b", "c", "d"]);
  assert.deepEqual(names({ after }), ["c", "d"]);
  assert.deepEqual(names({ since: "2026-01-01T00:00:04" }), ["d"]);
  writeFileSync(cluster.auditLog, line("e", 5));
  assert.deepEqual(names(), ["e"]);
});

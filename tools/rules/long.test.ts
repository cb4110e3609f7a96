/** What `npm test` leaves out is made by test:long or test:faults. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { reached } from "#build/lanes.ts";

test("no test is left out everywhere: what has a longTest, or a sample, is run whole by a file of test:long", () => {
  const whole = globSync("test/**/*.long.test.ts").filter((file) =>
    readFileSync(file, "utf8").includes('process.env["EVERY_POINT"] = "1"'),
  );
  const made = new Set<string>();
  for (const file of whole) reached(file, made);
  const files = globSync("test/**/*.ts").filter(
    (file) =>
      file !== "test/sample.ts" && /\blongTest\(|\beveryPoint\b/.test(readFileSync(file, "utf8")),
  );
  assert.ok(files.length > 10, String(files.length));
  // test:faults takes every point of its folder.
  const left = files.filter((file) => !made.has(file) && !file.startsWith("test/faults/"));
  assert.deepEqual(left, []);
});

test("every list of breakages is tried by a file of test:long", () => {
  const list = readFileSync("test/mutants/list.ts", "utf8");
  const rooms = Array.from(
    list.matchAll(/^import \{ \w+ \} from "\.\/(\S+)\.ts";$/gm),
    ([, room]) => room,
  );
  assert.ok(rooms.length > 5, rooms.join());
  const untried = rooms.filter((room) => !existsSync(`test/mutants/${room}.long.test.ts`));
  assert.deepEqual(untried, []);
});

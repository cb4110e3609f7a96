/** Rooms of what is not shipped; `npm run check` holds those of the programs. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";

test("a room of bench/, build/ and tools/ has nine sources at most, as those of the programs", () => {
  const sources = globSync("{bench,build,tools}/**/*.ts").filter(
    (file) => !/\.(?:test|fixture)\.ts$/.test(file),
  );
  const rooms = Map.groupBy(sources, (file) => dirname(file));
  assert.ok(rooms.size > 10, String(rooms.size));
  const crowded = [...rooms].flatMap(([room, { length }]) => (length > 9 ? [[room, length]] : []));
  assert.deepEqual(crowded, []);
});

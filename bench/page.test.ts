import assert from "node:assert/strict";
import { test } from "node:test";
import { withResults } from "./page.ts";
import { measure } from "./result.ts";

const page = (table: string) =>
  `Before.\n\n<!-- measured: npm run bench -- --write -->\n${table}<!-- /measured -->\n\nAfter.\n`;

test("a row that was measured again is replaced, the others stay, new ones come last, and so does what is around", () => {
  const first = withResults(page(""), [
    measure({ name: "a", unit: "s" }, [1]),
    measure({ name: "b", unit: "s" }, [2]),
  ]);
  const second = withResults(first, [
    measure({ name: "c", unit: "s" }, [4]),
    measure({ name: "a", unit: "s" }, [3]),
  ]);
  const values = second
    .split("\n")
    .flatMap((line) => /^\| ([abc]) +\| (\d) /.exec(line)?.slice(1).join("") ?? []);
  assert.deepEqual(values, ["a3", "b2", "c4"]);
  assert.ok(second.startsWith("Before.\n\n") && second.endsWith("\n\nAfter.\n"));
  assert.equal(withResults(second, []), second);
});

test("a page without a place for the table is refused", () => {
  assert.throws(
    () => withResults("nothing", []),
    /docs\/performance\.md: the lines .* are missing/,
  );
});

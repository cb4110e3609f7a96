import assert from "node:assert/strict";
import { test } from "node:test";
import { unwritable, withResults } from "./page.ts";
import { measure } from "./result.ts";

const page = "Before.\n\n<!-- measured: npm run bench -- --write --><!-- /measured -->\n\nAfter.\n";
const run = (commit: string) => ({ commit, date: new Date("2026-01-02T03:04:05Z"), quick: true });
const row = (name: string, value: number) => measure({ name, unit: "s" }, [value]);

test("the page has the rows of one run, says of which build they are, and keeps what is around", () => {
  const first = withResults(page, run("abc"), [row("a", 1), row("b", 2)]);
  const second = withResults(first, run("def"), [row("c", 4), row("a", 3)]);
  const values = second
    .split("\n")
    .flatMap((line) => /^\| ([abc]) +\| (\d) /.exec(line)?.slice(1).join("") ?? []);
  assert.deepEqual(values, ["c4", "a3"]);
  assert.match(second, /Measured on 2026-01-02, commit `def`, with `--quick`\./);
  assert.ok(second.startsWith("Before.\n\n") && second.endsWith("\n\nAfter.\n"));
});

test("the page says the day in UTC, whatever the machine's zone", (t) => {
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env["TZ"];
    else process.env["TZ"] = TZ;
  });
  // Of half past ten in UTC it is the next day in the one, and the day before in the other.
  const date = new Date("2026-01-02T10:30:00Z");
  for (const [zone, day] of [
    ["Pacific/Kiritimati", 3],
    ["Pacific/Pago_Pago", 1],
  ] as const) {
    process.env["TZ"] = zone;
    assert.equal(date.getDate(), day, "the zone is in force");
    assert.match(withResults(page, { ...run("abc"), date }, []), /^Measured on 2026-01-02, /m);
  }
});

test("a page without a place for the table is refused", () => {
  assert.throws(
    () => withResults("nothing", run("abc"), []),
    /docs\/performance\.md: the lines .* are missing/,
  );
});

for (const [what, only, changed, failed, words] of [
  ["of a part", true, "", 0, /--only/],
  ["of a changed tree", false, " M README.md", 0, /commit first/],
  ["with failures", false, "", 2, /2 measurements failed/],
  ["of all, committed", false, "", 0, /^$/],
] as const)
  test(`a run ${what}: ${words.source}`, () =>
    assert.match(unwritable(only, changed, failed), words));

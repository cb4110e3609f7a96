import assert from "node:assert/strict";
import { test } from "node:test";
import { unwritable, withResults } from "./page.ts";
import { measure } from "./result.ts";

const page = "Before.\n\n<!-- measured: npm run bench -- --write --><!-- /measured -->\n\nAfter.\n";
const date = new Date("2026-01-02T03:04:05Z");
const run = (commit: string) => ({ commit, date, quick: true, changed: false });
const row = (name: string, value: number) => measure({ name, unit: "s" }, [value]);

test("writes the rows and the build of one run, and keeps the text around them", () => {
  const first = withResults(page, run("abc"), [row("a", 1), row("b", 2)]);
  const second = withResults(first, run("def"), [row("c", 4), row("a", 3)]);
  const values = second
    .split("\n")
    .flatMap((line) => /^\| ([abc]) +\| (\d) /.exec(line)?.slice(1).join("") ?? []);
  assert.deepEqual(values, ["c4", "a3"]);
  assert.match(second, /Measured on 2026-01-02, commit `def`, with `--quick`\./);
  assert.ok(second.startsWith("Before.\n\n") && second.endsWith("\n\nAfter.\n"));
});

test("states the day in UTC, whatever the machine's time zone", (t) => {
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env["TZ"];
    else process.env["TZ"] = TZ;
  });
  // At 10:30 UTC the first zone already has the next day, and the second zone still has the
  // previous day.
  const halfPastTen = new Date("2026-01-02T10:30:00Z");
  for (const [zone, day] of [
    ["Pacific/Kiritimati", 3],
    ["Pacific/Pago_Pago", 1],
  ] as const) {
    process.env["TZ"] = zone;
    assert.equal(halfPastTen.getDate(), day, "the zone is in force");
    assert.match(
      withResults(page, { ...run("abc"), date: halfPastTen }, []),
      /^Measured on 2026-01-02, /m,
    );
  }
});

test("refuses a page without a place for the table", () => {
  assert.throws(
    () => withResults("nothing", run("abc"), []),
    /docs\/inside\/performance\.md: the lines .* are missing/,
  );
});

const clean = { commit: "abc", changed: "" };
const changed = { ...clean, changed: " M README.md" };
const another = { ...clean, commit: "def" };

for (const [what, only, before, end, words] of [
  ["of a part", true, clean, {}, /--only/],
  ["of a changed tree", false, changed, {}, /commit first/],
  [
    "of a tree that changes during the run",
    false,
    clean,
    { after: changed },
    /changed during the run/,
  ],
  ["of a tree that has another commit at the end", false, clean, { after: another }, /changed/],
  ["with failures", false, clean, { after: clean, failed: 2 }, /2 measurements failed/],
  ["of all, committed", false, clean, { after: clean }, /^$/],
] as const)
  test(`answers "${words.source}" for a run ${what}`, () =>
    assert.match(unwritable(only, before, end), words));

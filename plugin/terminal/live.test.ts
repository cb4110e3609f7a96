import assert from "node:assert/strict";
import { test } from "node:test";
import { liveLine, liveText } from "./live.ts";

test("shows elapsed and expected time before the text, and escapes text that could fool a terminal", () => {
  for (const [elapsed, remaining, shown] of [
    [0.4, undefined, "0s: a"],
    [42.9, 180, "42s, about 3m left: a"],
    [700, 0, "11m: a"],
    [700, -5, "11m: a"],
  ] as const)
    assert.equal(liveText("a", elapsed, remaining), shown);
  assert.equal(liveText("a\u001b[2K\nb", 0, undefined), "0s: a\\u{1b}[2K\\u{a}b");
});

test("redraws the line at each change and each second, and erases it at the end", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const written: string[] = [];
  const live = liveLine({ columns: 12, write: (text) => void written.push(text) }, assert.fail);
  live.end();
  live.show("one", undefined);
  live.show("long enough to be cut", 100);
  t.mock.timers.tick(2000);
  live.end();
  live.end();
  t.mock.timers.tick(2000);
  assert.deepEqual(written, [
    "\r\u001b[K0s: one",
    ...Array<string>(3).fill("\r\u001b[K0s, about 1"),
    "\r\u001b[K",
  ]);
});

test("without a terminal, prints each new text once, as a line", () => {
  const lines: string[] = [];
  const live = liveLine(undefined, (line) => void lines.push(line));
  for (const text of ["a", "a", "b"]) live.show(text, 10);
  live.end();
  assert.deepEqual(lines, ["a", "b"]);
});

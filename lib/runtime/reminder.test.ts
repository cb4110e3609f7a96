import assert from "node:assert/strict";
import { test } from "node:test";
import { reminder } from "./reminder.ts";

test("reports each reason at once, and then once a minute, whatever other reasons there are", (t) => {
  let seconds = 0;
  t.mock.method(performance, "now", () => seconds * 1000);
  const due = reminder();
  const reported: string[] = [];
  for (; seconds < 150; seconds += 2)
    for (const why of ["refused", ...(seconds < 100 ? ["timeout"] : [])])
      if (due(why)) reported.push(`${seconds} ${why}`);
  assert.deepEqual(reported, ["0 refused", "0 timeout", "60 refused", "60 timeout", "120 refused"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { readReport } from "./order.ts";

const status = {
  revision: 7,
  digest: "abc",
  attempt: 1_764_416_000,
  result: "Proved",
  code: "GPS200",
  message: "the revision is in force",
  mode: "Restart",
  version: "1.2.3",
  since: "2025-11-29T11:33:20Z",
  time: "2025-11-29T12:33:20.9Z",
};

test("reads a report with its times in seconds", () => {
  assert.deepEqual(readReport(status), { ...status, since: 1_764_416_000, time: 1_764_419_600 });
});

/** One part of another form, for each part of a report. */
const invalid: Readonly<Record<keyof typeof status, readonly unknown[]>> = {
  revision: [undefined, -1, 1.5, "7", 2 ** 41],
  digest: [undefined, 7, "a".repeat(65)],
  attempt: [undefined, null, "1"],
  result: [undefined, "proved", "toString"],
  code: [undefined, "GPS2000"],
  message: [undefined, "a".repeat(801)],
  mode: [undefined, "restart"],
  version: [undefined, "1".repeat(65)],
  since: [undefined, 1_764_416_000, "yesterday"],
  time: [undefined, ""],
};

test("reads nothing if one part of a report is missing or has another form", () => {
  for (const other of [undefined, null, 7, "text", []]) assert.equal(readReport(other), undefined);
  for (const [part, values] of Object.entries(invalid))
    for (const value of values)
      assert.equal(
        readReport({ ...status, [part]: value }),
        undefined,
        `${part}: ${String(value)}`,
      );
});

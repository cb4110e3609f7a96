import assert from "node:assert/strict";
import { test } from "node:test";
import { mostRevision, readOrder, readReport, revisionOf } from "./order.ts";

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
  revision: [undefined, -1, 1.5, "7", 2 ** 40],
  digest: [undefined, 7, "a".repeat(65)],
  attempt: [undefined, null, "1", 2 ** 40],
  result: [undefined, "proved", "toString"],
  code: [undefined, "GPS2000"],
  message: [undefined, "a".repeat(801)],
  mode: [undefined, "restart"],
  version: [undefined, "1".repeat(65)],
  since: [undefined, 1_764_416_000, "yesterday"],
  time: [undefined, ""],
};

/** The lowest and the highest, or the shortest and the longest value, for parts of a report. */
const longest: Readonly<Partial<Record<keyof typeof status, readonly unknown[]>>> = {
  revision: [0, 1_099_511_627_775],
  attempt: [0, 1_099_511_627_775],
  digest: ["", "a".repeat(64)],
  code: ["", "GPS200"],
  message: ["", "a".repeat(800)],
  version: ["", "1".repeat(64)],
};

test("reads a report whose parts are as long or as high as allowed", () => {
  for (const [part, values] of Object.entries(longest))
    for (const value of values)
      assert.equal(readReport({ ...status, [part]: value })?.[part as "digest"], value, part);
});

const order = { revision: 7, digest: "a_B-9", attempt: 1_764_416_000 };
const orders: readonly (readonly [what: string, spec: unknown, isRead: boolean])[] = [
  ["an order", order, true],
  ["the highest revision", { ...order, revision: 1_099_511_627_775 }, true],
  ["revision 0", { ...order, revision: 0 }, true],
  ["a digest of 64 characters", { ...order, digest: "a".repeat(64) }, true],
  ["a revision that is too high", { ...order, revision: 1_099_511_627_776 }, false],
  ["a revision that is a text", { ...order, revision: "7" }, false],
  ["no revision", { ...order, revision: undefined }, false],
  ["an attempt of 0, so the node was never asked", { ...order, attempt: 0 }, false],
  ["a negative attempt", { ...order, attempt: -1 }, false],
  ["an attempt that is too high", { ...order, attempt: 1_099_511_627_776 }, false],
  ["an empty digest", { ...order, digest: "" }, false],
  ["a digest of 65 characters", { ...order, digest: "a".repeat(65) }, false],
  ["a digest with another character", { ...order, digest: "a/b" }, false],
  ["a digest that is a number", { ...order, digest: 7 }, false],
  ["nothing", undefined, false],
  ["null", null, false],
  ["a text", "7/a_B-9/1", false],
];
for (const [what, spec, isRead] of orders)
  test(`${isRead ? "reads" : "reads no order in"} ${what}`, () =>
    assert.deepEqual(readOrder(spec), isRead ? spec : undefined));

test("reads a revision from a text", () => {
  assert.equal(mostRevision, 1_099_511_627_775);
  for (const text of ["0", "7", "1099511627775"]) assert.equal(revisionOf(text), Number(text));
  for (const text of ["", "-1", "1.5", " 1", "1e3", "0x1", "1099511627776", "0".repeat(14)])
    assert.equal(revisionOf(text), undefined, text);
});

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

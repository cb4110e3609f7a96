/** Which order the node follows. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Report } from "#contract/order.ts";
import { firstJournal } from "../journal/journal.ts";
import { contentWith, idle, seven, theirs } from "./facts.fixture.ts";
import { orderFor } from "./order.ts";

const failed: Report = {
  ...seven,
  result: "Failed",
  code: "GPS218",
  message: "",
  mode: "Restart",
  version: "",
  since: 0,
  time: 0,
};
const proved: Report = { ...failed, result: "Proved" };
const object = { uid: "u", order: seven, report: undefined };

const rows = [
  ["the API server has not answered", "unknown", undefined, "unknown"],
  ["no object", "absent", undefined, "none"],
  ["nothing asked", { ...object, order: undefined }, undefined, "none"],
  ["asked", object, undefined, seven],
  ["asked for what it has", object, idle, seven],
  ["answered", { ...object, report: failed }, idle, "none"],
  ["answered, without a journal", { ...object, report: failed }, undefined, "answered"],
  [
    "answered, and what it has belongs to no revision",
    { ...object, report: failed },
    firstJournal(theirs),
    "answered",
  ],
  ["proved", { ...object, report: proved }, idle, "none"],
  ["proved, and then lost", { ...object, report: proved }, undefined, seven],
  ["an earlier attempt is answered", { ...object, report: { ...failed, attempt: 1 } }, idle, seven],
  ["newer content is in force", object, firstJournal(theirs, contentWith(8)), "none"],
] as const;

for (const [when, own, journal, expected] of rows)
  test(`follows the order until it is answered, unless the node has newer content: ${when}`, () =>
    assert.deepEqual(orderFor(own, journal), expected));

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stateOf, type StateFacts } from "./facts.ts";
import { readRollout, retryOf } from "./observe.ts";

const names = fc.array(fc.string(), { maxLength: 20, size: "max" });
const time = fc.double({ min: 0, max: 4e9, noNaN: true, noDefaultInfinity: true });
const states: fc.Arbitrary<StateFacts> = fc.record(
  {
    revision: fc.nat(),
    since: time,
    proved: fc.boolean(),
    asked: names,
    failed: names,
    lost: names,
    served: fc.boolean(),
    retry: fc.string(),
    bucketUntil: time,
  },
  { noNullPrototype: true },
);
const none = stateOf(0, 0, { retry: "", bucketUntil: 0, served: false });
const none7 = { ...none, revision: 7 };

test("law: reads back its own writes", () => {
  fc.assert(
    fc.property(states, (state) => {
      assert.deepEqual(readRollout(JSON.parse(JSON.stringify(state))), state);
    }),
  );
});

test("law: reads any JSON without throwing, and reads its own result unchanged", () => {
  const part = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()));
  const near = fc.record(
    {
      revision: fc.oneof(part, fc.integer()),
      since: part,
      proved: part,
      asked: part,
      failed: part,
      lost: part,
      served: part,
      retry: part,
      bucketUntil: part,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(near, fc.jsonValue()), (value) => {
      const read = readRollout(value);
      assert.deepEqual(readRollout(read), read);
    }),
  );
});

const nonsense: readonly (readonly [what: string, value: unknown, expected: StateFacts])[] = [
  ["nothing", undefined, none],
  ["null", null, none],
  ["a text", "{}", none],
  ["an array", [7], none],
  ["an object without a revision", { proved: true, failed: ["a"] }, none],
  ["a revision that is not an integer", { revision: 1.5, proved: true }, none],
  ["a negative revision", { revision: -1, proved: true }, none],
  ["a revision as a text", { revision: "7", proved: true }, none],
  [
    "the parts that are not about a revision, if the revision is lost",
    { revision: null, retry: "1", bucketUntil: 5, served: true },
    { ...none, retry: "1", bucketUntil: 5, served: true },
  ],
  ["a proof with another value than true", { revision: 7, proved: "true" }, none7],
  ["a time that is a text", { revision: 7, since: "soon" }, none7],
  ["a request that is not a text", { revision: 7, retry: 1 }, none7],
  ["a time of the bucket that is a list", { revision: 7, bucketUntil: [1] }, none7],
  [
    "a list that also has values of other types",
    { revision: 7, failed: ["a", 1, null, "b"] },
    { ...none7, failed: ["a", "b"] },
  ],
];
for (const [what, value, expected] of nonsense)
  test(`reads only valid parts: ${what}`, () => assert.deepEqual(readRollout(value), expected));

test("reads at most 2,000 nodes of a list", () => {
  const failed = Array.from({ length: 3000 }, (_, at) => `uid-${at}`);
  assert.deepEqual(readRollout({ revision: 7, failed }).failed, failed.slice(0, 2000));
});

const requests: readonly (readonly [what: string, asked: string, known: string, is: string])[] = [
  ["no request", "", "", ""],
  ["a first request", "1", "", "1"],
  ["another value", "2", "1", "2"],
  ["a removed request", "", "1", "1"],
  ["a value of any length", "x".repeat(300_000), "", "x".repeat(256)],
];
for (const [what, asked, recorded, is] of requests)
  test(`begins a retry only if the request is new: ${what}`, () => {
    assert.equal(retryOf(asked, recorded), is);
    assert.equal(retryOf(asked, is), is);
  });

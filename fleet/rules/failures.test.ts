import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterStatus, FleetFailure } from "#api/fleet-secret.ts";
import { failuresOf } from "./status.ts";

const [nine, ten] = ["2026-11-23T09:00:00Z", "2026-11-23T10:00:00Z"];
const refused = "GPS439: PATCH refused: 403 Forbidden; allow the target to be written there";
const cluster = (name: string, state: ClusterStatus["state"], reason?: string) => ({
  name,
  state,
  ...(reason === undefined ? {} : { reason }),
});
const failure = (name: string, since = nine): FleetFailure => ({
  name,
  reason: "GPS439",
  message: "PATCH refused: 403 Forbidden; allow the target to be written there",
  since,
});

test("reports the code and the message of a failed cluster, and when the failure began", () => {
  const clusters = [cluster("a", "Failed", refused), cluster("b", "Done")];
  assert.deepEqual(failuresOf(clusters, [], nine), [failure("a", nine)]);
});

const stays: readonly (readonly [ClusterStatus["state"], there: boolean])[] = [
  ["Waiting", true],
  ["Progressing", true],
  ["Unreachable", true],
  ["Done", false],
  ["Leaving", false],
];
for (const [state, isListed] of stays)
  test(`a failure ${isListed ? "stays" : "goes"} when its cluster is ${state}`, () =>
    assert.deepEqual(
      failuresOf([cluster("a", state)], [failure("a")], ten),
      isListed ? [failure("a")] : [],
    ));

test("lists a cluster that is unreachable or that does not use the content, with the reason", () => {
  const away = "GPS438: no answer; no action needed";
  const held = "GPS452: Paused; look there";
  const clusters = [cluster("a", "Unreachable", away), cluster("b", "Waiting", held)];
  const named = failuresOf(clusters, [], nine).map(({ name, reason }) => [name, reason]);
  assert.deepEqual(named, [
    ["a", "GPS438"],
    ["b", "GPS452"],
  ]);
});

test("keeps the time of a failure only while the failure stays the same, and drops the failure of a deleted cluster", () => {
  const former = [failure("a"), failure("b"), failure("gone")];
  const clusters = [
    cluster("a", "Failed", refused),
    cluster("b", "Failed", "GPS435: exists; delete it"),
  ];
  const b = { name: "b", reason: "GPS435", message: "exists; delete it", since: ten };
  assert.deepEqual(failuresOf(clusters, former, ten), [b, failure("a")]);
});

test("lists the same ten in the next run while more clusters fail than it lists", () => {
  const away = "GPS438: no answer; no action needed";
  const clusters = Array.from({ length: 25 }, (_, at) => ({
    ...cluster(`c${at}`, "Unreachable", away),
    since: `2026-11-23T08:00:${10 + at}Z`,
  }));
  const failures = failuresOf(clusters, [], nine);
  assert.deepEqual(failuresOf(clusters, failures, ten), failures);
});

test("reports the ten newest failures of many, newest first", () => {
  const clusters = Array.from({ length: 30 }, (_, n) => cluster(`c${n}`, "Failed", refused));
  const former = clusters.slice(0, 25).map(({ name }) => failure(name));
  const failures = failuresOf(clusters, former, ten);
  assert.equal(failures.length, 10);
  assert.deepEqual(
    failures.slice(0, 5).map(({ name, since }) => [name, since]),
    ["c25", "c26", "c27", "c28", "c29"].map((name) => [name, ten]),
  );
});

test("reports the whole text of a reason that has no code", () => {
  assert.partialDeepStrictEqual(failuresOf([cluster("a", "Failed", "odd")], [], nine), [
    { reason: "Unknown", message: "odd" },
  ]);
});

test("lists a failed cluster before many unreachable clusters", () => {
  const away = Array.from({ length: 20 }, (_, n) =>
    cluster(`c${n}`, "Unreachable", "GPS438: x; y"),
  );
  const named = failuresOf([...away, cluster("f", "Failed", refused)], [failure("f")], ten);
  assert.deepEqual([named.length, named[0]?.name], [10, "f"]);
});

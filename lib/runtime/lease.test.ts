import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterConflict,
  heldBy,
  holds,
  lease,
  readLease,
  watch,
  type FoundLease,
  type WatchedLease,
} from "./lease.ts";

const lent = (holder: string, renewed: string, changes: Partial<FoundLease> = {}): FoundLease => ({
  holder,
  renewed,
  seconds: 15,
  acquired: "t0",
  transitions: 1,
  uid: "u",
  version: "7",
  ...changes,
});

/** [seconds of the standby's clock, what it reads, whether it takes the Lease] */
type Row = readonly [now: number, found: FoundLease | undefined, take: boolean];
const a1 = lent("a", "1");

const standbys: Readonly<Record<string, readonly Row[]>> = {
  "takes a Lease that does not exist": [[0, undefined, true]],
  "takes a released Lease at once": [[0, lent("", "1"), true]],
  "takes its own Lease, because the reply to its write was lost": [[0, lent("me", "1"), true]],
  "waits for the whole duration from when it first saw a renewal, whatever age the Lease states": [
    [0, a1, false],
    [2, a1, false],
    [14, a1, false],
  ],
  "takes a Lease after it has watched the Lease for 15 s without a renewal": [
    ...[0, 2, 4, 6, 8, 10, 12, 14].map((now) => [now, a1, false] as const),
    [15, a1, true],
  ],
  "starts to wait again at each renewal": [
    ...[0, 4, 8, 12].map((now) => [now, a1, false] as const),
    [14, lent("a", "2"), false],
    ...[16, 20, 24, 28].map((now) => [now, lent("a", "2"), false] as const),
    [29, lent("a", "2"), true],
  ],
  "starts to wait again when the holder has changed": [
    ...[0, 4, 8, 12].map((now) => [now, a1, false] as const),
    [16, lent("b", "1", { transitions: 2 }), false],
  ],
  "counts a jump of its clock as at most two intervals": [
    [0, a1, false],
    [3600, a1, false],
    [7200, a1, false],
  ],
  "is not misled by a clock that goes back": [
    [100, a1, false],
    [0, a1, false],
    [2, a1, false],
  ],
  "waits for the longer duration in another build's Lease": [
    ...[0, 4, 8, 12, 16].map((now) => [now, lent("a", "1", { seconds: 20 }), false] as const),
    [20, lent("a", "1", { seconds: 20 }), true],
  ],
};
for (const [sentence, rows] of Object.entries(standbys)) {
  test(`a standby ${sentence}`, () => {
    let watched: WatchedLease | undefined;
    for (const [now, liveLease, take] of rows) {
      const look = watch(watched, liveLease, "me", now);
      assert.equal(look.take, take, `at ${now} s`);
      assert.ok(look.again > 0 && look.again <= lease.look);
      watched = look.watched;
    }
  });
}

const holders: readonly (readonly [
  sentence: string,
  renewed: number,
  now: number,
  answer: boolean,
])[] = [
  ["that has renewed just now", 5, 5, true],
  ["that has renewed within the deadline", 5, 14.9, true],
  ["that has not renewed for the deadline", 5, 15, false],
  ["whose clock has jumped ahead, perhaps because it was suspended", 5, 3600, false],
  ["whose clock went back", 5, 4, false],
];
for (const [sentence, renewed, now, answer] of holders)
  test(`a holder ${sentence} ${answer ? "may write" : "may not write"}`, () =>
    assert.equal(holds(renewed, now), answer));

test("lets a holder try to renew twice, and stops the holder well before a standby takes over", () => {
  assert.ok(lease.deadline + lease.look < lease.duration);
  assert.ok(
    lease.renew + lease.answer + lease.retry + lease.answer > lease.deadline,
    "a third attempt is wasted",
  );
  assert.ok(lease.renew + lease.answer + lease.retry < lease.deadline);
});

const conflicts: readonly (readonly [
  sentence: string,
  found: FoundLease | undefined,
  answer: "renew" | "end",
])[] = [
  ["another client annotated the Lease", lent("me", "1"), "renew"],
  ["another client deleted the Lease", undefined, "renew"],
  ["another client emptied the Lease", lent("", "1"), "renew"],
  ["another process holds the Lease", lent("b", "1"), "end"],
];
for (const [sentence, liveLease, answer] of conflicts)
  test(`a renewal is refused because ${sentence}: ${answer}`, () =>
    assert.equal(afterConflict(liveLease, "me"), answer));

const now = new Date("2026-11-23T10:00:00.123Z");

test("counts a transition and sets acquireTime when it takes the Lease, but not when it renews the Lease", () => {
  const taken = heldBy("me", a1, now, "lease");
  assert.equal(taken.spec?.leaseTransitions, 2);
  assert.equal(taken.spec?.acquireTime, "2026-11-23T10:00:00.123000Z");
  assert.deepEqual([taken.metadata?.uid, taken.metadata?.resourceVersion], ["u", "7"]);
  const renewed = heldBy("a", a1, now, "lease");
  assert.equal(renewed.spec?.leaseTransitions, 1);
  assert.equal(renewed.spec?.acquireTime, "t0");
});

test("can only create a missing Lease, never change it", () => {
  assert.deepEqual(heldBy("me", undefined, now, "lease").metadata?.resourceVersion, "1");
});

test("takes a Lease even if its count of transitions has reached the API server's maximum", () => {
  const most = 2 ** 31 - 1;
  for (const [before, after] of [
    [most - 1, most],
    [most, most],
  ] as const)
    assert.equal(
      heldBy("me", lent("a", "1", { transitions: before }), new Date(), "lease").spec
        ?.leaseTransitions,
      after,
    );
});

test("empties the holder on release, and counts no transition", () => {
  const back = heldBy("", a1, now, "lease");
  assert.equal(back.spec?.holderIdentity, "");
  assert.equal(back.spec?.leaseTransitions, 1);
});

test("treats an empty Lease as free, and an absurd duration as a minute", () => {
  assert.equal(readLease({}).holder, "");
  assert.equal(
    readLease({ spec: { holderIdentity: "x", leaseDurationSeconds: 100_000 } }).seconds,
    60,
  );
});

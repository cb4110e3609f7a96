import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rolloutStateOf, type ClusterFacts } from "./cluster-state.ts";
import { nextChanges, type RankedCluster, type RolloutPace, type RolloutState } from "./order.ts";

const letters: Readonly<Record<string, RolloutState>> = {
  d: "done",
  w: "waiting",
  b: "busy",
  s: "soaking",
  p: "repair",
  f: "failed",
  r: "retry",
  t: "retrying",
  a: "again",
  u: "unreachable",
};
/** One letter for each cluster, named 0, 1, 2 … */
const clusters = (text: string): RankedCluster[] =>
  Array.from(text, (letter, at) => ({
    name: String(at),
    rolloutState: letters[letter] ?? "waiting",
  }));

const none = { maxFailures: 0 };
const pace: RolloutPace = { canary: 1, maxConcurrency: "50%", maxFailures: "5%" };
const table: readonly (readonly [
  what: string,
  text: string,
  change: string,
  more?: Partial<RolloutPace>,
  halted?: boolean,
])[] = [
  ["there are no clusters", "", ""],
  ["all have it", "ddd", ""],
  ["the first one is the canary", "wwww", "0"],
  ["while the canary changes, no other starts", "bwww", ""],
  ["then as many as the limit allows", "dwww", "12"],
  ["changing clusters take their slots", "dbww", "2"],
  ["a canary that has had it too briefly is awaited", "swww", ""],
  ["and keeps its slot in the wave", "dsww", "2"],
  ["until it has had it long enough", "ddww", "23"],
  ["a cluster gets back what it lost, whatever others do", "bpww", "12"],
  ["also beside canaries, and counts as one", "bpwww", "12", { canary: 3 }],
  ["and even if others refuse", "fpww", "1", none, true],
  ["half of three is one", "dww", "1"],
  ["at least one", "dwwwwwwwww", "1", { maxConcurrency: "1%" }],
  ["a number is used as it is", "dwwww", "123", { maxConcurrency: 3 }],
  ["several canaries go together", "wwww", "01", { canary: 2 }],
  ["one canary of two is not enough", "dwww", "1", { canary: 2 }],
  ["without canaries all slots are open", "wwww", "01", { canary: 0 }],
  ["more canaries than clusters means all", "www", "012", { canary: 9 }],
  ["an unreachable cluster is not a canary", "uwww", "1"],
  ["and counts for no percentage", "duuuww", "4"],
  ["and is not waited for", "du", ""],
  ["nobody answers", "uuu", ""],
  ["a canary that refuses is followed by one other", "fwww", "1"],
  ["the second refusal halts while none has it", "ffwwwwww", "", { maxFailures: "50%" }, true],
  ["a number counts from the start", "ffwwwwww", "2", { maxFailures: 5 }],
  ["and halts when more refuse", "ffwwwwww", "", { maxFailures: 1 }, true],
  ["and no longer once a cluster has it", "dffwwwww", "345", { maxFailures: 5, maxConcurrency: 3 }],
  ["a percentage of failures is at least one", "dfww", "23"],
  ["and two of forty", `${"d".repeat(20)}ff${"w".repeat(18)}`, "22", { maxConcurrency: 1 }],
  ["or, with three, halts", `${"d".repeat(20)}fff${"w".repeat(17)}`, "", {}, true],
  ["with none allowed, the canary's refusal halts", "fwww", "", none, true],
  ["a cluster that failed for its own reasons comes last, and does not count", "duuaw", "4", none],
  ["and is tried when none waits", "dda", "2", none],
  ["but not while the content is suspect", "dffa", "", none, true],
  ["one that joins waits for no canary", "ddw", "2"],
  ["one more than allowed halts", "dffw", "", { maxFailures: 1 }, true],
  ["only a cluster that refused is tried again", "dwrw", "2", none, true],
  ["and meanwhile no other", "dwtw", "", none, true],
  ["its trial takes a slot", "dtww", "2", { maxFailures: 1 }],
  ["after those that wait, if refusals are allowed", "drww", "23", { maxFailures: 1 }],
  ["a canary that refuses may be tried again alone", "rwww", "0", none, true],
];

for (const [what, text, change, more = {}, halted = false] of table)
  test(`${text || "none"}: ${what}`, () => {
    const action = nextChanges(clusters(text), { ...pace, ...more });
    assert.deepEqual([action.change.join(""), action.halted], [change, halted]);
  });

const fleets = fc.array(
  fc.record({
    name: fc.string({ minLength: 1, maxLength: 3 }),
    rolloutState: fc.constantFrom(...Object.values(letters)),
  }),
  { maxLength: 60 },
);
const paces = fc.record({
  canary: fc.nat(5),
  maxConcurrency: fc.oneof(
    fc.integer({ min: 1, max: 80 }),
    fc.integer({ min: 1, max: 100 }).map((n) => `${n}%`),
  ),
  maxFailures: fc.nat(4),
});
const count = (all: readonly RankedCluster[], ...of: readonly RolloutState[]) =>
  all.filter(({ rolloutState }) => of.includes(rolloutState)).length;

test("law: never changes a cluster that is unreachable, has the content or is changing, nor gives it another cluster's slot", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(
        fleets.map((all) => all[0] ?? { name: "x", rolloutState: "done" as const }),
        { selector: ({ name }) => name, maxLength: 40 },
      ),
      paces,
      (all, pace) => {
        const action = nextChanges(all, pace);
        const rolloutState = new Map(all.map((one) => [one.name, one.rolloutState]));
        for (const name of action.change)
          assert.ok(
            ["waiting", "retry", "repair", "again"].includes(rolloutState.get(name) ?? ""),
            name,
          );
        const reached = all.filter(({ rolloutState }) => rolloutState !== "unreachable");
        assert.deepEqual(nextChanges(reached, pace), action);
      },
    ),
  );
});

test("law: never changes more at a time than canary or concurrency allow, and none new beyond maxFailures", () => {
  fc.assert(
    fc.property(fleets, paces, (given, pace) => {
      const all = given.filter(({ rolloutState }) => rolloutState !== "repair");
      const { change, halted } = nextChanges(all, pace);
      const reached = all.length - count(all, "unreachable");
      const share =
        typeof pace.maxConcurrency === "number"
          ? pace.maxConcurrency
          : Math.max(1, Math.floor((Number.parseInt(pace.maxConcurrency, 10) * reached) / 100));
      const limit = Math.max(share, Math.min(pace.canary, reached));
      if (change.length > 0)
        assert.ok(change.length + count(all, "busy", "soaking", "retrying") <= limit);
      const refusals = count(all, "failed", "retry", "retrying");
      assert.equal(halted, refusals > pace.maxFailures);
      if (halted) assert.ok(change.length <= count(all, "retry"));
      if (count(all, "done") < Math.min(pace.canary, reached))
        assert.ok(change.length <= pace.canary);
    }),
  );
});

test("law: does not let any single cluster prevent another from getting the content, whatever it answers", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), paces, (well, given) => {
      const pace = { ...given, maxFailures: "5%" };
      for (const failing of ["failed", "unreachable", "again"] as const) {
        const one = { name: "", rolloutState: failing };
        let all = clusters("w".repeat(well));
        for (let round = 0; round <= well; round++) {
          const now = new Set(nextChanges([one, ...all], pace).change);
          all = all.map((one) =>
            now.has(one.name) ? { name: one.name, rolloutState: "done" } : one,
          );
        }
        assert.equal(count(all, "waiting"), 0, failing);
      }
    }),
  );
});

/** The behaviour of one cluster in a round of ten minutes, as the controller finds it. */
const there = {
  keeps: { is: "has", proof: "awaited" },
  proves: { is: "has", proof: "proved" },
  loses: { is: "other", present: false },
  held: { is: "has", proof: "held" },
  away: { is: "away", why: "" },
} as const;

test("law: does not let any single cluster delay another for more than the deadline, whatever it does", () => {
  const behaviours = fc.constantFrom(...(Object.keys(there) as (keyof typeof there)[]));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.array(behaviours, { minLength: 1, maxLength: 6 }),
      fc.nat(2),
      fc.constantFrom(0, 1_200_000),
      (well, script, canary, soak) => {
        const pace = { canary, maxConcurrency: 1, maxFailures: "5%" };
        const whole = { refusal: undefined, soak, deadline: 1_800_000, late: "l" };
        let former: ClusterFacts["former"];
        let all = clusters("w".repeat(well));
        let has = false;
        for (let round = 0; round < 6 * (well + 1); round++) {
          const now = round * 600_000;
          const event = script[round % script.length] ?? "keeps";
          const found = has || event === "away" ? there[event] : there.loses;
          has &&= event !== "loses";
          const judge = (busy: boolean) => {
            const judged = rolloutStateOf({ ...whole, busy, there: found, former, now });
            const { state, reason } = judged;
            former = { state, reason, since: former?.state === state ? former.since : now };
            return judged;
          };
          const { rolloutState } = judge(false);
          const changed = new Set(nextChanges([{ name: "", rolloutState }, ...all], pace).change);
          if (changed.has("")) judge((has = true));
          all = all.map((one) => (changed.has(one.name) ? { ...one, rolloutState: "done" } : one));
        }
        assert.equal(count(all, "waiting"), 0);
      },
    ),
    // One script in forty keeps its slot, in one of only two ways.
    { numRuns: 1000 },
  );
});

test("law: brings the content to every cluster that answers, as long as none refuses", () => {
  fc.assert(
    fc.property(fc.nat(80), fc.nat(20), paces, (waiting, away, pace) => {
      let all = clusters("w".repeat(waiting) + "u".repeat(away));
      for (let round = 0; round <= waiting; round++) {
        const { change } = nextChanges(all, pace);
        if (change.length === 0) break;
        const now = new Set(change);
        all = all.map((one) =>
          now.has(one.name) ? { name: one.name, rolloutState: "done" } : one,
        );
      }
      assert.equal(count(all, "waiting"), 0);
    }),
  );
});

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
/** Clusters named 0, 1, 2 …, with a letter for the state of each. */
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
  ["changes nothing without clusters", "", ""],
  ["changes nothing when all have the content", "ddd", ""],
  ["changes the canary first", "wwww", "0"],
  ["starts no other cluster while the canary changes", "bwww", ""],
  ["after the canary, changes as many clusters as maxConcurrency allows", "dwww", "12"],
  ["counts a slot for each changing cluster", "dbww", "2"],
  ["waits until the canary has had the content long enough", "swww", ""],
  ["counts a slot for a cluster that has not had the content long enough", "dsww", "2"],
  ["frees the slot when a cluster has had the content long enough", "ddww", "23"],
  ["restores lost content at once, whatever other clusters do", "bpww", "12"],
  ["restores lost content while canaries change", "bpwww", "12", { canary: 3 }],
  ["restores lost content even during a halt", "fpww", "1", none, true],
  ["rounds 50 % of three clusters down to one", "dww", "1"],
  ["rounds a percentage up to at least one", "dwwwwwwwww", "1", { maxConcurrency: "1%" }],
  [
    "if maxConcurrency is a number, changes that many clusters",
    "dwwww",
    "123",
    { maxConcurrency: 3 },
  ],
  ["changes several canaries together", "wwww", "01", { canary: 2 }],
  ["waits for the second of two canaries", "dwww", "1", { canary: 2 }],
  ["uses all slots if no canary is wanted", "wwww", "01", { canary: 0 }],
  ["changes all clusters if more canaries are wanted", "www", "012", { canary: 9 }],
  ["never takes an unreachable cluster as the canary", "uwww", "1"],
  ["does not count unreachable clusters in a percentage", "duuuww", "4"],
  ["does not wait for an unreachable cluster", "du", ""],
  ["changes nothing while no cluster answers", "uuu", ""],
  ["after a canary refuses, tries one other cluster", "fwww", "1"],
  ["before a success, halts at the second refusal", "ffwwwwww", "", { maxFailures: "50%" }, true],
  ["before a success, allows up to maxFailures refusals", "ffwwwwww", "2", { maxFailures: 5 }],
  [
    "before a success, halts at more than maxFailures refusals",
    "ffwwwwww",
    "",
    { maxFailures: 1 },
    true,
  ],
  ["uses all slots after a success", "dffwwwww", "345", { maxFailures: 5, maxConcurrency: 3 }],
  ["allows one refusal when 5 % of the clusters are less than one", "dfww", "23"],
  [
    "allows two refusals in forty clusters (5 %)",
    `${"d".repeat(20)}ff${"w".repeat(18)}`,
    "22",
    { maxConcurrency: 1 },
  ],
  [
    "halts at three refusals in forty clusters (5 %)",
    `${"d".repeat(20)}fff${"w".repeat(17)}`,
    "",
    {},
    true,
  ],
  ["halts at the canary's refusal if no failure is allowed", "fwww", "", none, true],
  [
    "tries last a cluster that failed for its own reasons, and does not count that failure",
    "duuaw",
    "4",
    none,
  ],
  ["when no cluster waits, retries a cluster that failed for its own reasons", "dda", "2", none],
  ["during a halt, retries no cluster that failed for its own reasons", "dffa", "", none, true],
  ["changes a joining cluster without a new canary", "ddw", "2"],
  [
    "after a success, halts at more than maxFailures refusals",
    "dffw",
    "",
    { maxFailures: 1 },
    true,
  ],
  ["during a halt, retries only a cluster that refused", "dwrw", "2", none, true],
  ["during a halt, changes no other cluster during a retry", "dwtw", "", none, true],
  ["counts a slot for a retry", "dtww", "2", { maxFailures: 1 }],
  [
    "serves waiting clusters before a retry if refusals are allowed",
    "drww",
    "23",
    { maxFailures: 1 },
  ],
  ["retries only the canary that refused", "rwww", "0", none, true],
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

test("law: never changes a cluster that is unreachable, changing or done, and gives unreachable clusters no slot", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(
        fleets.map((all) => all[0] ?? { name: "x", rolloutState: "done" as const }),
        { selector: ({ name }) => name, maxLength: 40 },
      ),
      paces,
      (all, pace) => {
        const action = nextChanges(all, pace);
        const rolloutState = new Map(all.map((cluster) => [cluster.name, cluster.rolloutState]));
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

test("law: never changes more clusters at a time than canary or maxConcurrency allows, and starts no new cluster after more failures than maxFailures", () => {
  fc.assert(
    fc.property(fleets, paces, (generated, pace) => {
      const all = generated.filter(({ rolloutState }) => rolloutState !== "repair");
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

test("law: brings the content to all other clusters, whatever the state of a single cluster", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), paces, (well, generatedPace) => {
      const pace = { ...generatedPace, maxFailures: "5%" };
      for (const failing of ["failed", "unreachable", "again"] as const) {
        const failingCluster = { name: "", rolloutState: failing };
        let all = clusters("w".repeat(well));
        for (let round = 0; round <= well; round++) {
          const now = new Set(nextChanges([failingCluster, ...all], pace).change);
          all = all.map((cluster) =>
            now.has(cluster.name) ? { name: cluster.name, rolloutState: "done" } : cluster,
          );
        }
        assert.equal(count(all, "waiting"), 0, failing);
      }
    }),
  );
});

/** What the controller can find in a cluster after a round of ten minutes. */
const observations = {
  keeps: { is: "has", proof: "awaited" },
  proves: { is: "has", proof: "proved" },
  loses: { is: "other", present: false },
  held: { is: "has", proof: "held" },
  away: { is: "away", why: "" },
} as const;

test("law: brings the content to all other clusters, however a single cluster behaves over time", () => {
  const behaviours = fc.constantFrom(
    ...(Object.keys(observations) as (keyof typeof observations)[]),
  );
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
          const observed = has || event === "away" ? observations[event] : observations.loses;
          has &&= event !== "loses";
          const observeCluster = (busy: boolean) => {
            const judged = rolloutStateOf({ ...whole, busy, observed, former, now });
            const { state, reason } = judged;
            former = { state, reason, since: former?.state === state ? former.since : now };
            return judged;
          };
          const { rolloutState } = observeCluster(false);
          const changed = new Set(nextChanges([{ name: "", rolloutState }, ...all], pace).change);
          if (changed.has("")) observeCluster((has = true));
          all = all.map((cluster) =>
            changed.has(cluster.name) ? { ...cluster, rolloutState: "done" } : cluster,
          );
        }
        assert.equal(count(all, "waiting"), 0);
      },
    ),
    // A thousand runs, because only one script in forty has the events with which a cluster could
    // keep its slot.
    { numRuns: 1000 },
  );
});

test("law: brings the content to every cluster that answers, if no cluster refuses", () => {
  fc.assert(
    fc.property(fc.nat(80), fc.nat(20), paces, (waiting, away, pace) => {
      let all = clusters("w".repeat(waiting) + "u".repeat(away));
      for (let round = 0; round <= waiting; round++) {
        const { change } = nextChanges(all, pace);
        if (change.length === 0) break;
        const now = new Set(change);
        all = all.map((cluster) =>
          now.has(cluster.name) ? { name: cluster.name, rolloutState: "done" } : cluster,
        );
      }
      assert.equal(count(all, "waiting"), 0);
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nextChanges, type RankedCluster, type RolloutPace, type RolloutState } from "./order.ts";

const letters: Readonly<Record<string, RolloutState>> = {
  d: "done",
  w: "waiting",
  b: "working",
  s: "slow",
  f: "refused",
  u: "unreachable",
};
/**
 * Clusters named 0, 1, 2 …, with a letter for the state of each. A capital letter: the content can
 * be written there without a place. `c` is a canary that waits, `k` one that works.
 */
const clusters = (text: string): RankedCluster[] =>
  Array.from(text, (letter, at) => ({
    name: String(at),
    rolloutState: letters[{ c: "w", k: "b" }[letter] ?? letter.toLowerCase()] ?? "waiting",
    isDue: letter !== letter.toLowerCase(),
    isCanary: letter === "c" || letter === "k",
  }));

const none = { maxFailures: 0 };
const pace: RolloutPace = { maxUnavailable: "50%", maxFailures: "5%" };
const table: readonly (readonly [
  what: string,
  text: string,
  change: string,
  more?: Partial<RolloutPace>,
  halted?: boolean,
])[] = [
  ["changes nothing without clusters", "", ""],
  ["changes nothing when all have the content", "ddd", ""],
  ["changes one cluster first", "wwww", "0"],
  ["starts no other cluster while the first one works", "bwww", ""],
  ["after the first proof, opens two more places", "dwwwwwww", "123"],
  ["opens no more places than maxUnavailable", "dwww", "12"],
  ["counts a place for each working cluster", "dbww", "2"],
  ["gives a slow cluster's place to another one", "sww", "1"],
  ["opens no more places for slow clusters, because they prove nothing", "ssswwwww", "3"],
  ["with maxUnavailable 100%, changes all at once", "bwww", "123", { maxUnavailable: "100%" }],
  ["rounds a percentage up to at least one", "dwwwwwwwww", "1", { maxUnavailable: "1%" }],
  ["if maxUnavailable is a number, changes that many", "ddwwwww", "234", { maxUnavailable: 3 }],
  ["restores lost content at once, whatever other clusters do", "bDww", "12"],
  ["restores lost content even during a halt", "fDww", "1", none, true],
  ["repeats a write to a slow cluster without a place", "dbSww", "23", { maxUnavailable: 2 }],
  ["during a halt, repeats no write to a cluster that had not proved it", "ffS", "", {}, true],
  ["takes canaries first", "wwcw", "2"],
  ["waits for a canary that works", "wwkw", ""],
  ["does not wait for a canary that is slow, refuses or is away", "sfuw", "3"],
  ["with maxUnavailable 100%, ignores canaries", "wck", "01", { maxUnavailable: "100%" }],
  ["never takes an unreachable cluster", "uwww", "1"],
  ["does not count unreachable clusters in a percentage", "duuuww", "4"],
  ["changes nothing while no cluster answers", "uuu", ""],
  ["after a refusal, tries one other cluster", "fwww", "1"],
  ["before a success, halts at the second refusal", "ffwwwwww", "", { maxFailures: "50%" }, true],
  ["before a success, allows up to maxFailures refusals", "ffwwwwww", "2", { maxFailures: 5 }],
  ["halts at more than maxFailures refusals", "ffwwwwww", "", { maxFailures: 1 }, true],
  ["allows one refusal when 5 % of the clusters are less than one", "dfww", "23"],
  [
    "allows two refusals in forty clusters (5 %)",
    `${"d".repeat(20)}ff${"w".repeat(18)}`,
    "22",
    { maxUnavailable: 1 },
  ],
  [
    "halts at three refusals in forty clusters (5 %)",
    `${"d".repeat(20)}fff${"w".repeat(17)}`,
    "",
    {},
    true,
  ],
  ["halts at the first refusal if none is allowed", "fwww", "", none, true],
  ["does not count slow clusters as refusals", "sssw", "3", none],
  ["during a halt, retries only a cluster that refused", "dwFw", "2", none, true],
  ["retries without a place", "bFww", "1"],
];

for (const [what, text, change, more = {}, halted = false] of table)
  test(`${text || "none"}: ${what}`, () => {
    const action = nextChanges(clusters(text), { ...pace, ...more });
    assert.deepEqual([action.change.join(""), action.halted], [change, halted]);
  });

const fleets = fc
  .array(fc.constantFrom(..."dwbsfuDSFck"), { maxLength: 60 })
  .map((all) => clusters(all.join("")));
const paces = fc.record({
  maxUnavailable: fc.oneof(
    fc.integer({ min: 1, max: 80 }),
    fc.integer({ min: 1, max: 99 }).map((n) => `${n}%`),
  ),
  maxFailures: fc.nat(4),
});

test("law: changes only clusters that wait or are due, and gives unreachable clusters no place", () => {
  fc.assert(
    fc.property(fleets, paces, (all, pace) => {
      const action = nextChanges(all, pace);
      const byName = new Map(all.map((cluster) => [cluster.name, cluster]));
      for (const name of action.change) {
        const { rolloutState, isDue } = byName.get(name) ?? assert.fail(name);
        assert.ok(rolloutState === "waiting" || isDue === true, name);
      }
      const reached = all.filter(({ rolloutState }) => rolloutState !== "unreachable");
      assert.deepEqual(nextChanges(reached, pace), action);
    }),
  );
});

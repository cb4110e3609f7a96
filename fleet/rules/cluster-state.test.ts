import assert from "node:assert/strict";
import { test } from "node:test";
import { isGivenUp, removalStateOf, rolloutStateOf, type ClusterFacts } from "./cluster-state.ts";

const now = 1_000_000;
const late = "GPS456 late";
const has = (proof: "proved" | "unasked" | "awaited" | "held" | "refused", why?: string) =>
  ({ is: "has", proof, why }) as const;
const facts = (more: Partial<ClusterFacts>): ClusterFacts => ({
  there: { is: "other", present: true },
  busy: false,
  refusal: undefined,
  former: undefined,
  now,
  soak: 0,
  deadline: undefined,
  late,
  ...more,
});
const away = { is: "away", why: "GPS438" } as const;
const ago = (state: "Done" | "Progressing" | "Failed", seconds: number, reason?: string) => ({
  state,
  since: now - seconds * 1000,
  reason,
});

const no = (own: boolean, wait: number) => ({ why: "", own, next: now + wait });

const lasting = { is: "away", why: "GPS437", lasting: true } as const;

const table: readonly (readonly [
  what: string,
  given: Partial<ClusterFacts>,
  rolloutState: string,
  state: string,
  next?: number,
])[] = [
  ["nobody has asked yet", { there: { is: "unknown" } }, "unreachable", "Waiting"],
  ["its kubeconfig is no use", { there: lasting }, "unreachable", "Failed"],
  ["it is away", { there: away }, "unreachable", "Unreachable"],
  ["it went away in mid-write", { there: away, busy: true }, "unreachable", "Unreachable"],
  [
    "it is away, and its deadline has passed",
    { there: away, deadline: 60_000, former: ago("Progressing", 61) },
    "unreachable",
    "Unreachable",
  ],
  ["a foreign Secret is there", { there: { is: "foreign", why: "" } }, "unreachable", "Failed"],
  ["a write is on its way", { busy: true }, "busy", "Progressing"],
  ["it has something else", {}, "waiting", "Waiting"],
  ["it had it, and lost it", { former: ago("Done", 9) }, "repair", "Progressing"],
  ["it lost it before its nodes had it", { former: ago("Progressing", 9) }, "again", "Progressing"],
  ["it was late, and lost it", { former: ago("Failed", 9, late) }, "again", "Failed"],
  ["it refused the content", { refusal: no(false, 9) }, "failed", "Failed", 9],
  ["it may be asked again", { refusal: no(false, 0) }, "retry", "Failed"],
  ["it is asked again", { busy: true, refusal: no(false, 0) }, "retrying", "Failed"],
  ["its rights refused the write", { refusal: no(true, 9) }, "unreachable", "Failed", 9],
  ["its rights may be asked again", { refusal: no(true, 0) }, "again", "Failed"],
  ["its rights are asked again", { busy: true, refusal: no(true, 0) }, "busy", "Failed"],
  ["it is read back", { there: has("unasked") }, "done", "Done"],
  ["its nodes have it", { there: has("proved") }, "done", "Done"],
  ["its nodes do not have it yet", { there: has("awaited") }, "busy", "Progressing"],
  ["its own administrator holds it up", { there: has("held") }, "unreachable", "Waiting"],
  ["its nodes refuse", { there: has("refused") }, "failed", "Failed"],
  [
    "it has it for too short a time",
    { there: has("proved"), soak: 60_000, former: ago("Done", 20) },
    "soaking",
    "Done",
    40_000,
  ],
  [
    "it has it just now, so its time begins",
    { there: has("proved"), soak: 60_000, former: ago("Progressing", 500) },
    "soaking",
    "Done",
    60_000,
  ],
  [
    "it has it for long enough",
    { there: has("proved"), soak: 60_000, former: ago("Done", 60) },
    "done",
    "Done",
  ],
  [
    "its nodes had it, and now do not",
    { there: has("awaited"), soak: 60_000, former: ago("Done", 20) },
    "unreachable",
    "Progressing",
  ],
  [
    "its nodes still have time",
    { there: has("awaited"), deadline: 60_000, former: ago("Progressing", 59) },
    "busy",
    "Progressing",
    1000,
  ],
  [
    "its nodes are late",
    { there: has("awaited"), deadline: 60_000, former: ago("Progressing", 60) },
    "unreachable",
    "Failed",
  ],
  [
    "its nodes were late, and still are",
    { there: has("awaited"), deadline: 60_000, former: ago("Failed", 1, late) },
    "unreachable",
    "Failed",
  ],
  [
    "it refused, took it, and its time begins only then",
    { there: has("awaited"), deadline: 60_000, former: ago("Failed", 90, "GPS439") },
    "busy",
    "Progressing",
    60_000,
  ],
  [
    "it was late, and has it now",
    { there: has("proved"), deadline: 60_000, former: ago("Failed", 90, late) },
    "done",
    "Done",
  ],
];

for (const [what, given, rolloutState, state, next] of table)
  test(`${what}: ${rolloutState}, shown as ${state}`, () => {
    const found = rolloutStateOf(facts(given));
    assert.deepEqual(
      [found.rolloutState, found.state, found.next && found.next - now],
      [rolloutState, state, next],
    );
  });

const refusal = (seconds: number) => ({ why: "GPS439", own: true, next: now + seconds * 1000 });
const leaving: readonly (readonly [
  what: string,
  given: Partial<ClusterFacts>,
  rolloutState: string,
  reason: string | undefined,
  atDeadline: "given up" | "waited for",
])[] = [
  ["nobody has asked yet", { there: { is: "unknown" } }, "unreachable", undefined, "waited for"],
  ["it is away", { there: away, refusal: refusal(9) }, "unreachable", "GPS438", "given up"],
  ["it is to give back", {}, "waiting", undefined, "waited for"],
  ["it is at it", { busy: true }, "busy", undefined, "waited for"],
  ["it refused", { refusal: refusal(9) }, "failed", "GPS439", "given up"],
  ["it may be asked again", { refusal: refusal(0) }, "retry", "GPS439", "waited for"],
  ["it is asked again", { busy: true, refusal: refusal(0) }, "busy", "GPS439", "waited for"],
];
for (const [what, given, rolloutState, reason, atDeadline] of leaving)
  test(`of a cluster that leaves, ${what}: ${rolloutState}, for ${reason ?? "no reason"}, and ${atDeadline} at the deadline`, () => {
    const found = removalStateOf(facts(given));
    assert.deepEqual([found.rolloutState, found.reason], [rolloutState, reason]);
    assert.equal(isGivenUp(found), atDeadline === "given up");
  });

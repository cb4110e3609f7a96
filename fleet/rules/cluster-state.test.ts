import assert from "node:assert/strict";
import { test } from "node:test";
import { isGivenUp, removalStateOf, rolloutStateOf, type ClusterFacts } from "./cluster-state.ts";

const now = 1_000_000;
const late = "GPS456 late";
const has = (proof: "proved" | "unasked" | "awaited" | "held" | "refused", why?: string) =>
  ({ is: "has", proof, why }) as const;
const facts = (more: Partial<ClusterFacts>): ClusterFacts => ({
  observed: { is: "other", present: true },
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
  ["we have not contacted it yet", { observed: { is: "unknown" } }, "unreachable", "Waiting"],
  ["its kubeconfig cannot be used", { observed: lasting }, "unreachable", "Failed"],
  ["it is unreachable", { observed: away }, "unreachable", "Unreachable"],
  [
    "it became unreachable during a write",
    { observed: away, busy: true },
    "unreachable",
    "Unreachable",
  ],
  [
    "it is unreachable, and its deadline has passed",
    { observed: away, deadline: 60_000, former: ago("Progressing", 61) },
    "unreachable",
    "Unreachable",
  ],
  [
    "a Secret of another owner is there",
    { observed: { is: "foreign", why: "" } },
    "unreachable",
    "Failed",
  ],
  ["a write is under way", { busy: true }, "busy", "Progressing"],
  ["it has other content", {}, "waiting", "Waiting"],
  ["it had the content, and lost it", { former: ago("Done", 9) }, "repair", "Progressing"],
  [
    "it lost the content before its nodes had the content",
    { former: ago("Progressing", 9) },
    "again",
    "Progressing",
  ],
  [
    "it missed its deadline, and lost the content",
    { former: ago("Failed", 9, late) },
    "again",
    "Failed",
  ],
  ["it refused the content", { refusal: no(false, 9) }, "failed", "Failed", 9],
  ["it refused, and we may try again", { refusal: no(false, 0) }, "retry", "Failed"],
  [
    "it refused, and we are trying again",
    { busy: true, refusal: no(false, 0) },
    "retrying",
    "Failed",
  ],
  ["it refused for its own reasons", { refusal: no(true, 9) }, "unreachable", "Failed", 9],
  [
    "it refused for its own reasons, and we may try again",
    { refusal: no(true, 0) },
    "again",
    "Failed",
  ],
  [
    "it refused for its own reasons, and we are trying again",
    { busy: true, refusal: no(true, 0) },
    "busy",
    "Failed",
  ],
  ["the Secret was read back", { observed: has("unasked") }, "done", "Done"],
  ["its nodes have the content", { observed: has("proved") }, "done", "Done"],
  ["its nodes do not have the content yet", { observed: has("awaited") }, "busy", "Progressing"],
  ["it does not use the content now", { observed: has("held") }, "unreachable", "Waiting"],
  ["its nodes refuse the content", { observed: has("refused") }, "failed", "Failed"],
  [
    "it has not had the content long enough",
    { observed: has("proved"), soak: 60_000, former: ago("Done", 20) },
    "soaking",
    "Done",
    40_000,
  ],
  [
    "it has just got the content, so minSuccessTime begins",
    { observed: has("proved"), soak: 60_000, former: ago("Progressing", 500) },
    "soaking",
    "Done",
    60_000,
  ],
  [
    "it has had the content long enough",
    { observed: has("proved"), soak: 60_000, former: ago("Done", 60) },
    "done",
    "Done",
  ],
  [
    "its nodes had the content, and now do not",
    { observed: has("awaited"), soak: 60_000, former: ago("Done", 20) },
    "unreachable",
    "Progressing",
  ],
  [
    "its nodes still have time",
    { observed: has("awaited"), deadline: 60_000, former: ago("Progressing", 59) },
    "busy",
    "Progressing",
    1000,
  ],
  [
    "its nodes are late",
    { observed: has("awaited"), deadline: 60_000, former: ago("Progressing", 60) },
    "unreachable",
    "Failed",
  ],
  [
    "its nodes were late, and still do not have the content",
    { observed: has("awaited"), deadline: 60_000, former: ago("Failed", 1, late) },
    "unreachable",
    "Failed",
  ],
  [
    "it accepts the content after a refusal, so its deadline begins now",
    { observed: has("awaited"), deadline: 60_000, former: ago("Failed", 90, "GPS439") },
    "busy",
    "Progressing",
    60_000,
  ],
  [
    "it missed its deadline, and has the content now",
    { observed: has("proved"), deadline: 60_000, former: ago("Failed", 90, late) },
    "done",
    "Done",
  ],
];

for (const [what, overrides, rolloutState, state, next] of table)
  test(`${what}: ${rolloutState}, shown as ${state}`, () => {
    const judgement = rolloutStateOf(facts(overrides));
    assert.deepEqual(
      [judgement.rolloutState, judgement.state, judgement.next && judgement.next - now],
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
  [
    "we have not contacted it yet",
    { observed: { is: "unknown" } },
    "unreachable",
    undefined,
    "waited for",
  ],
  [
    "it is unreachable",
    { observed: away, refusal: refusal(9) },
    "unreachable",
    "GPS438",
    "given up",
  ],
  ["the Secret must be removed", {}, "waiting", undefined, "waited for"],
  ["it is removing the Secret", { busy: true }, "busy", undefined, "waited for"],
  ["it refused", { refusal: refusal(9) }, "failed", "GPS439", "given up"],
  ["it refused, and we may try again", { refusal: refusal(0) }, "retry", "GPS439", "waited for"],
  [
    "it refused, and we are trying again",
    { busy: true, refusal: refusal(0) },
    "busy",
    "GPS439",
    "waited for",
  ],
];
for (const [what, overrides, rolloutState, reason, atDeadline] of leaving)
  test(`a leaving cluster is ${rolloutState} if ${what}, with ${reason ?? "no reason"}, and is ${atDeadline} at the deadline`, () => {
    const judgement = removalStateOf(facts(overrides));
    assert.deepEqual([judgement.rolloutState, judgement.reason], [rolloutState, reason]);
    assert.equal(isGivenUp(judgement), atDeadline === "given up");
  });

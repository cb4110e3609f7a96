import assert from "node:assert/strict";
import { test } from "node:test";
import {
  removalStateOf,
  rolloutStateOf,
  type ClusterFacts,
  type Judgement,
} from "./cluster-state.ts";

const now = 1_000_000;
const proofs = ["proved", "unasked", "awaited", "held", "refused"] as const;
const has = (proof: (typeof proofs)[number], why?: string) => ({ is: "has", proof, why }) as const;
const facts = (more: Partial<ClusterFacts>): ClusterFacts => ({
  observed: { is: "other", present: true },
  busy: false,
  refusal: undefined,
  former: undefined,
  now,
  ...more,
});
const away = { is: "away", why: "GPS438" } as const;
/** The last status: since when it lasts, and when the content was first written, in seconds ago. */
const ago = (state: "Done" | "Progressing" | "Failed", seconds: number, started = seconds) => ({
  state,
  since: now - seconds * 1000,
  startedAt: now - started * 1000,
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
    "a Secret of another owner is there",
    { observed: { is: "foreign", why: "" } },
    "unreachable",
    "Failed",
  ],
  ["a write is under way", { busy: true }, "working", "Progressing", 120_000],
  ...proofs.map(
    (proof) =>
      [
        `a write is under way, and the last list showed the content as ${proof}`,
        { busy: true, observed: has(proof) },
        "working",
        "Progressing",
        120_000,
      ] as const,
  ),
  ["a write hangs", { busy: true, former: ago("Progressing", 120) }, "slow", "Progressing"],
  ["it has other content", {}, "waiting", "Waiting"],
  [
    "it had proved the content, and lost it",
    { former: ago("Done", 9) },
    "done, due",
    "Progressing",
  ],
  [
    "it lost the content before it proved the content",
    { former: ago("Progressing", 9) },
    "working, due",
    "Progressing",
    111_000,
  ],
  [
    "it loses the content again and again, so it has no longer a place than others",
    { former: ago("Progressing", 1, 120) },
    "slow, due",
    "Progressing",
  ],
  ["it refused the content", { refusal: no(false, 9) }, "refused", "Failed", 9],
  ["it refused, and we may try again", { refusal: no(false, 0) }, "refused, due", "Failed"],
  [
    "it refused, and we are trying again",
    { busy: true, refusal: no(false, 0) },
    "refused",
    "Failed",
  ],
  ["it refused for its own reasons", { refusal: no(true, 9) }, "unreachable", "Failed", 9],
  [
    "it refused for its own reasons, and we may try again",
    { refusal: no(true, 0) },
    "unreachable, due",
    "Failed",
  ],
  [
    "it refused for its own reasons, and we are trying again",
    { busy: true, refusal: no(true, 0) },
    "unreachable",
    "Failed",
  ],
  ["the Secret was read back", { observed: has("unasked") }, "done", "Done"],
  ["its nodes have the content", { observed: has("proved") }, "done", "Done"],
  [
    "its nodes do not have the content yet",
    { observed: has("awaited") },
    "working",
    "Progressing",
    120_000,
  ],
  ["it does not use the content now", { observed: has("held") }, "unreachable", "Waiting"],
  ["its nodes refuse the content", { observed: has("refused") }, "refused", "Failed"],
  [
    "its nodes had the content, and now do not",
    { observed: has("awaited"), former: ago("Done", 20, 200) },
    "slow",
    "Progressing",
  ],
  [
    "its nodes still have time",
    { observed: has("awaited"), former: ago("Progressing", 119) },
    "working",
    "Progressing",
    1000,
  ],
  [
    "its nodes are slow",
    { observed: has("awaited"), former: ago("Progressing", 120) },
    "slow",
    "Progressing",
  ],
  [
    "it was away again and again, so it is slow",
    { observed: has("awaited"), former: ago("Failed", 1, 120) },
    "slow",
    "Progressing",
  ],
  [
    "it was slow, and has the content now",
    { observed: has("proved"), former: ago("Progressing", 900) },
    "done",
    "Done",
  ],
];

const shown = ({ rolloutState, isDue }: Pick<Judgement, "rolloutState" | "isDue">) =>
  `${rolloutState}${isDue === true ? ", due" : ""}`;

for (const [what, overrides, rolloutState, state, next] of table)
  test(`${what}: ${rolloutState}, shown as ${state}`, () => {
    const judgement = rolloutStateOf(facts(overrides));
    assert.deepEqual(
      [shown(judgement), judgement.state, judgement.next && judgement.next - now],
      [rolloutState, state, next],
    );
  });

const refusal = { why: "GPS439", own: true, next: now };
const leaving: readonly (readonly [
  what: string,
  given: Partial<Parameters<typeof removalStateOf>[0]>,
  reason: string | undefined,
  atDeadline: "given up" | "waited for",
])[] = [
  ["we have not contacted it yet", { observed: { is: "unknown" } }, undefined, "waited for"],
  [
    "it refused, and we have not contacted it again",
    { observed: { is: "unknown" }, refusal },
    undefined,
    "waited for",
  ],
  ["it is unreachable", { observed: away, refusal }, "GPS438", "given up"],
  ["it holds the Secret", { observed: { is: "foreign", why: "GPS462" } }, "GPS462", "given up"],
  ["another FleetSecret takes it over", { successor: "n/b" }, "GPS468", "given up"],
  ["the Secret must be removed", {}, undefined, "waited for"],
  ["it is removing the Secret", { busy: true }, undefined, "waited for"],
  ["it refused", { refusal }, "GPS439", "given up"],
  ["it refused, and we are trying again", { busy: true, refusal }, "GPS439", "waited for"],
];
for (const [what, overrides, reason, atDeadline] of leaving)
  test(`a leaving cluster has ${reason ?? "no reason"} if ${what}, and is ${atDeadline} at the deadline`, () => {
    const removal = removalStateOf({ ...facts({}), ...overrides });
    assert.equal(removal.reason?.slice(0, 6), reason);
    assert.equal(removal.isStuck, atDeadline === "given up");
  });

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { halted, inForce, object, rolling, source, conditionsOf } from "../object.fixture.ts";
import { judgeServed, type PresentSource, type Served } from "./presence.ts";

const secret = (version: PresentSource["version"], before?: string): PresentSource[] => [
  { source: "additional-pull-secret", version, before },
];
/** A source with this version, which --source or spec.sources names. */
const named = (version: PresentSource["version"], source = "additional-pull-secret") => [
  { source, version, named: true },
];
const reported = (sources: GlobalPullSecret["status"], conditions = inForce) =>
  object({ status: { ...sources, conditions } });
const verdict = (accepted: "True" | "False" | "Unknown", reason: string, more = {}) => ({
  sources: [{ name: "additional-pull-secret", accepted, reason, message: "why", ...more }],
});
const noSource = conditionsOf("nobody", "NoSource", "no source has credentials to apply");
const withdrawn = (conditions: typeof inForce, generation = 3) =>
  object({
    spec: { managementState: "Withdrawn" },
    generation,
    status: { observedGeneration: 3, sources: [source("812")], conditions },
  });

const cases: readonly (readonly [
  what: string,
  object: GlobalPullSecret | undefined,
  present: readonly PresentSource[],
  is: Served["is"],
  why: RegExp,
])[] = [
  ["no object yet", undefined, [], "waiting", /has not created/],
  [
    "this version is served",
    reported({ sources: [source("812")] }),
    secret("812"),
    "served",
    /revision 7/,
  ],
  [
    "a later version is served",
    reported({ sources: [source("900")] }),
    secret("812"),
    "served",
    /./,
  ],
  [
    "Ready, but for the previous version",
    reported({ sources: [source("790")] }),
    secret("812"),
    "waiting",
    /version 812 is not read/,
  ],
  [
    "versions compared as numbers, not as texts",
    reported({ sources: [source("99")] }),
    secret("100"),
    "waiting",
    /not read/,
  ],
  [
    "versions that are too long for JavaScript's numbers",
    reported({ sources: [source("90071992547409920")] }),
    secret("90071992547409921"),
    "waiting",
    /not read/,
  ],
  [
    "read, and being rolled out",
    reported({ sources: [source("812", "790")] }, rolling),
    secret("812"),
    "waiting",
    /being rolled out/,
  ],
  [
    "served, but the object is not Ready",
    reported({ sources: [source("812")] }, rolling),
    secret("812"),
    "waiting",
    /RollingOut/,
  ],
  [
    "the version is refused",
    reported(verdict("False", "Rejected", { resourceVersion: "812" })),
    secret("812"),
    "failed",
    /additional-pull-secret: why/,
  ],
  [
    "the previous version was refused",
    reported(verdict("False", "Rejected", { resourceVersion: "790" }), halted),
    secret("812"),
    "waiting",
    /not read/,
  ],
  [
    "the controller is not allowed to read the Secret",
    reported(verdict("Unknown", "Forbidden")),
    secret("812"),
    "failed",
    /why/,
  ],
  [
    "halted with this version",
    reported({ sources: [source("812", "790")] }, halted),
    secret("812"),
    "failed",
    /Halted: revision 8 failed on n7/,
  ],
  [
    "a spec that is not read yet",
    object({
      generation: 4,
      status: { observedGeneration: 3, sources: [source("812")], conditions: inForce },
    }),
    secret("812"),
    "waiting",
    /generation 4/,
  ],
  [
    "paused before the version was read",
    object({
      spec: { managementState: "Paused" },
      status: { sources: [source("790")], conditions: inForce },
    }),
    secret("812"),
    "failed",
    /paused/,
  ],
  [
    "paused, and nothing waits",
    object({
      spec: { managementState: "Paused" },
      status: {
        sources: [source("812")],
        conditions: conditionsOf("nobody", "Paused", "paused: nothing waits"),
      },
    }),
    secret("812"),
    "served",
    /nothing waits/,
  ],
  [
    "a deletion that is not read yet",
    reported({ sources: [source("812")] }),
    secret(undefined, "812"),
    "waiting",
    /its deletion is not read/,
  ],
  [
    "deleted, in the grace period",
    reported(verdict("False", "WithdrawalAwaited"), rolling),
    secret(undefined),
    "waiting",
    /additional-pull-secret: why/,
  ],
  [
    "deleted, and the nodes remove the entries",
    reported(
      { sources: [] },
      conditionsOf("controller", "Withdrawing", "the nodes remove our entries"),
    ),
    secret(undefined),
    "waiting",
    /Withdrawing/,
  ],
  [
    "another source is in force, and additional-pull-secret is not used",
    reported({ sources: [] }),
    secret(undefined),
    "served",
    /revision 7/,
  ],
  [
    "no Secret at all",
    reported({ sources: [] }, noSource),
    secret(undefined),
    "waiting",
    /NoSource/,
  ],
  [
    "no Secret at all, without the right to get it",
    reported({}, noSource),
    [],
    "waiting",
    /NoSource/,
  ],
  [
    "created after the command began, and being rolled out",
    reported({ sources: [source("812", "790")] }, rolling),
    secret(undefined),
    "waiting",
    /version 812 is being rolled out/,
  ],
  [
    "created after the command began, and served",
    reported({ sources: [source("812")] }),
    secret(undefined, "790"),
    "served",
    /revision 7/,
  ],
  [
    "a named Secret is missing",
    reported({ sources: [] }),
    named(undefined),
    "waiting",
    /additional-pull-secret: the Secret does not exist/,
  ],
  [
    "a Secret of spec.sources is missing",
    reported(verdict("False", "Missing")),
    named(undefined),
    "waiting",
    /additional-pull-secret: why/,
  ],
  [
    "a Secret is missing, and the caller is not allowed to get it",
    reported(verdict("False", "Missing")),
    named("hidden"),
    "waiting",
    /additional-pull-secret: why/,
  ],
  [
    "a Secret that the caller is not allowed to get is refused",
    reported(verdict("False", "Rejected", { resourceVersion: "790" })),
    named("hidden"),
    "failed",
    /additional-pull-secret: why/,
  ],
  [
    "a Secret that the caller is not allowed to get is being rolled out",
    reported({ sources: [source("812", "790")] }),
    named("hidden"),
    "waiting",
    /version 812 is being rolled out/,
  ],
  [
    "a Secret that the caller is not allowed to get is served",
    reported({ sources: [source("812")] }),
    named("hidden"),
    "served",
    /revision 7/,
  ],
  [
    "withdrawn, although the Secret still exists",
    withdrawn(conditionsOf("nobody", "Withdrawn", "nothing of ours is left")),
    secret("900"),
    "served",
    /nothing of ours/,
  ],
  [
    "withdrawn from all nodes except unreachable nodes",
    withdrawn(conditionsOf("nobody", "NodesAwaited", "others are waited for")),
    secret("812"),
    "served",
    /waited for/,
  ],
  ["a withdrawal that is not read yet", withdrawn(inForce, 4), [], "waiting", /generation 4/],
  [
    "the nodes still remove our entries",
    withdrawn(conditionsOf("controller", "Withdrawing", "the nodes remove our entries")),
    secret("812"),
    "waiting",
    /Withdrawing/,
  ],
  [
    "a withdrawal that is stuck",
    withdrawn(conditionsOf("person", "Overdue", "n7 does not answer")),
    [],
    "failed",
    /Overdue: n7/,
  ],
];
for (const [what, one, present, is, why] of cases)
  test(`reports "${is}" for: ${what}`, () => {
    const answer = judgeServed(one, present);
    assert.equal(answer.is, is, answer.why);
    assert.match(answer.why, why);
  });

const deletions: readonly (readonly [
  what: string,
  object: GlobalPullSecret,
  version: PresentSource["version"],
  is: Served["is"],
  why: RegExp,
])[] = [
  ["nothing is left", reported({ sources: [] }, noSource), undefined, "served", /no source has/],
  ["other sources stay", reported({ sources: [] }), undefined, "served", /revision 7/],
  ["spec.sources still names it", reported(verdict("False", "Missing")), undefined, "served", /./],
  [
    "the deletion is not read yet",
    reported({ sources: [source("812")] }),
    undefined,
    "waiting",
    /deletion is not/,
  ],
  [
    "the deletion is not read yet, and the caller is not allowed to get the Secret",
    reported({ sources: [source("812")] }),
    "hidden",
    "waiting",
    /deletion/,
  ],
  [
    "the grace period lasts",
    reported(verdict("False", "WithdrawalAwaited"), rolling),
    undefined,
    "waiting",
    /additional-pull-secret: why/,
  ],
  ["the Secret is there", reported({ sources: [source("812")] }), "812", "failed", /still exists/],
];
for (const [what, one, version, is, why] of deletions)
  test(`reports "${is}" for an awaited deletion if ${what}`, () => {
    const answer = judgeServed(one, named(version), { deleted: true });
    assert.equal(answer.is, is, answer.why);
    assert.match(answer.why, why);
  });

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
/** The versions that the controller has read, and that the nodes have. */
const at = (read: string, served = read, conditions = inForce) =>
  reported({ sources: [source(read, served)] }, conditions);
/** What the controller has decided about the version that it has read. */
function judged(
  accepted: "True" | "False" | "Unknown",
  reason: string,
  resourceVersion?: string,
  conditions = inForce,
): GlobalPullSecret {
  const read = { ...(resourceVersion !== undefined && { resourceVersion }) };
  const status = { name: "additional-pull-secret", accepted, reason, message: "why", ...read };
  return reported({ sources: [status] }, conditions);
}
const why = /^additional-pull-secret: why$/;
const noSource = conditionsOf("nobody", "NoSource", "no source has credentials to apply");
const leftBehind = conditionsOf("nobody", "NodesLeftBehind", "n7 may keep the entries");
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
  ["the Secret's version is served", at("812"), secret("812"), "served", /revision 7/],
  ["a later version than the Secret's is served", at("900"), secret("812"), "served", /./],
  [
    "the object is Ready, but for the previous version",
    at("790"),
    secret("812"),
    "waiting",
    /version 812 is not read/,
  ],
  ["version 99 is served, but not yet version 100", at("99"), secret("100"), "waiting", /not read/],
  [
    "the previous version is served, and differs only in the 17th digit",
    at("90071992547409920"),
    secret("90071992547409921"),
    "waiting",
    /not read/,
  ],
  [
    "the controller has read the version, and rolls it out",
    at("812", "790", rolling),
    secret("812"),
    "waiting",
    /being rolled out/,
  ],
  [
    "the version is served, but the object is not Ready",
    at("812", "812", rolling),
    secret("812"),
    "waiting",
    /RollingOut/,
  ],
  [
    "the controller refuses the version",
    judged("False", "Rejected", "812"),
    secret("812"),
    "failed",
    why,
  ],
  [
    "the controller refused the previous version",
    judged("False", "Rejected", "790", halted),
    secret("812"),
    "waiting",
    /not read/,
  ],
  [
    "the Secret has lost most of its registries, and the grace period has not ended",
    judged("False", "WithdrawalAwaited", undefined, halted),
    secret("812"),
    "waiting",
    why,
  ],
  [
    "the controller is not allowed to read the Secret",
    judged("Unknown", "Forbidden"),
    secret("812"),
    "failed",
    /why/,
  ],
  [
    "the rollout of the Secret's version is halted",
    at("812", "790", halted),
    secret("812"),
    "failed",
    /Halted: revision 8 failed on n7/,
  ],
  [
    "the controller has not read the spec yet",
    object({
      generation: 4,
      status: { observedGeneration: 3, sources: [source("812")], conditions: inForce },
    }),
    secret("812"),
    "waiting",
    /generation 4/,
  ],
  [
    "the object was paused before the controller read the version",
    object({
      spec: { managementState: "Paused" },
      status: { sources: [source("790")], conditions: inForce },
    }),
    secret("812"),
    "failed",
    /paused/,
  ],
  [
    "the object is paused, and no change waits",
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
    "the Secret is deleted, and the controller has not read the deletion yet",
    at("812"),
    secret(undefined, "812"),
    "waiting",
    /its deletion is not read/,
  ],
  [
    "the Secret is deleted, and the grace period has not ended",
    judged("False", "WithdrawalAwaited", undefined, rolling),
    secret(undefined),
    "waiting",
    why,
  ],
  [
    "the Secret is deleted, and the nodes remove its entries",
    reported(
      { sources: [] },
      conditionsOf("controller", "Withdrawing", "the nodes remove our entries"),
    ),
    secret(undefined),
    "waiting",
    /Withdrawing/,
  ],
  [
    "the Secret does not exist, and another source is in force",
    reported({ sources: [] }),
    secret(undefined),
    "served",
    /revision 7/,
  ],
  [
    "no source has a Secret",
    reported({ sources: [] }, noSource),
    secret(undefined),
    "waiting",
    /NoSource/,
  ],
  [
    "no source has a Secret, and an earlier withdrawal left nodes behind",
    reported({ sources: [] }, leftBehind),
    secret(undefined),
    "waiting",
    /NoSource/,
  ],
  [
    "no source has a Secret, and the caller is not allowed to get Secrets",
    reported({}, noSource),
    [],
    "waiting",
    /NoSource/,
  ],
  [
    "the Secret was created after the command began, and is being rolled out",
    at("812", "790", rolling),
    secret(undefined),
    "waiting",
    /version 812 is being rolled out/,
  ],
  [
    "the Secret was created after the command began, and is served",
    at("812"),
    secret(undefined, "790"),
    "served",
    /revision 7/,
  ],
  [
    "the command line names a Secret that does not exist",
    reported({ sources: [] }),
    named(undefined),
    "waiting",
    /additional-pull-secret: the Secret does not exist/,
  ],
  [
    "spec.sources names a Secret that does not exist",
    judged("False", "Missing"),
    named(undefined),
    "waiting",
    why,
  ],
  [
    "the caller is not allowed to get the Secret, and status reports it as missing",
    judged("False", "Missing"),
    named("hidden"),
    "waiting",
    why,
  ],
  [
    "the caller is not allowed to get the Secret, and status reports it as refused",
    judged("False", "Rejected", "790"),
    named("hidden"),
    "failed",
    why,
  ],
  [
    "the caller is not allowed to get the Secret, and status reports a rollout of it",
    at("812", "790"),
    named("hidden"),
    "waiting",
    /version 812 is being rolled out/,
  ],
  [
    "the caller is not allowed to get the Secret, and status reports it as served",
    at("812"),
    named("hidden"),
    "served",
    /revision 7/,
  ],
  [
    "all nodes have removed our entries, and the Secret still exists",
    withdrawn(conditionsOf("nobody", "Withdrawn", "nothing of ours is left")),
    secret("900"),
    "served",
    /nothing of ours/,
  ],
  [
    "all nodes except unreachable nodes have removed our entries",
    withdrawn(conditionsOf("nobody", "NodesAwaited", "others are waited for")),
    secret("812"),
    "served",
    /waited for/,
  ],
  [
    "the controller has not read the withdrawal yet",
    withdrawn(inForce, 4),
    [],
    "waiting",
    /generation 4/,
  ],
  [
    "the nodes still remove our entries",
    withdrawn(conditionsOf("controller", "Withdrawing", "the nodes remove our entries")),
    secret("812"),
    "waiting",
    /Withdrawing/,
  ],
  [
    "the withdrawal needs an administrator",
    withdrawn(conditionsOf("person", "Overdue", "n7 does not answer")),
    [],
    "failed",
    /Overdue: n7/,
  ],
];
for (const [what, pullSecret, present, is, why] of cases)
  test(`reports "${is}" for: ${what}`, () => {
    const answer = judgeServed(pullSecret, present);
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
  ["no source is left", reported({ sources: [] }, noSource), undefined, "served", /no source has/],
  [
    "a node was left behind",
    reported({ sources: [] }, leftBehind),
    undefined,
    "served",
    /n7 may keep the entries/,
  ],
  ["other sources are in force", reported({ sources: [] }), undefined, "served", /revision 7/],
  ["spec.sources still names the Secret", judged("False", "Missing"), undefined, "served", /./],
  ["the policy keeps its entries on the nodes", judged("False", "Kept"), undefined, "failed", why],
  [
    "the controller has not read the deletion yet",
    at("812"),
    undefined,
    "waiting",
    /deletion is not/,
  ],
  [
    "the controller has not read the deletion yet, and the caller is not allowed to get the Secret",
    at("812"),
    "hidden",
    "waiting",
    /deletion/,
  ],
  [
    "the grace period has not ended",
    judged("False", "WithdrawalAwaited", undefined, rolling),
    undefined,
    "waiting",
    why,
  ],
  ["the Secret still exists", at("812"), "812", "failed", /still exists/],
];
for (const [what, pullSecret, version, is, why] of deletions)
  test(`reports "${is}" for an awaited deletion if ${what}`, () => {
    const answer = judgeServed(pullSecret, named(version), { deleted: true });
    assert.equal(answer.is, is, answer.why);
    assert.match(answer.why, why);
  });

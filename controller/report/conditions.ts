/**
 * The outcome of a run as conditions: pure. Their words are in messages.ts; their times in
 * annotations.ts.
 */
import type { Verdict } from "../sources/accept.ts";
import type { Progress } from "../rollout/step.ts";
import type { Notice } from "./events.ts";
import { withCondition, type Condition } from "../objects/annotations.ts";
import { pick } from "../rollout/decide/node-state.ts";
import type { Snapshot } from "../sources/snapshot.ts";
import * as messages from "./messages.ts";
import { kindOf, troubles, type TroubleKind } from "./troubles.ts";

type Said = Omit<Condition, "lastTransitionTime">;

/** A kind of the table and what is said of it. */
export type Trouble = readonly [kind: TroubleKind, notice: Notice];

/** The condition that a trouble sets. */
export function troubled([kind, { message }]: Trouble, revision: number): Said {
  const { condition, reason } = troubles[kind];
  return { type: condition, status: "False", reason, message, revision };
}

/** Of the sources; the original's only where there is or should be one. */
export function sourceConditions(
  { problems, unknown }: Verdict,
  original: Snapshot["original"],
  revision: number,
): readonly Said[] {
  const additional = accepted("Accepted", problems.additional, revision);
  if (original === "absent" && problems.original.length === 0) return [additional];
  const said = accepted("OriginalAccepted", problems.original, revision);
  return [additional, unknown ? { ...said, status: "Unknown", reason: "Unknown" } : said];
}

function accepted(
  type: "Accepted" | "OriginalAccepted",
  problems: readonly { code: string }[],
  revision: number,
): Said {
  if (problems.length === 0)
    return { type, status: "True", reason: "Accepted", message: "in order", revision };
  const codes = problems.map(({ code }) => code).join(", ");
  return {
    type,
    status: "False",
    reason: "Rejected",
    message: `${codes}: the last good entries stay in force`,
    revision,
  };
}

/** While a deleted Secret may still be made anew. */
export function withdrawalAwaited(at: Date | undefined, revision: number): readonly Said[] {
  if (at === undefined) return [];
  const message = `the additional Secret is deleted: withdrawn from ${at.toISOString()} on, unless it is made anew`;
  return [{ type: "Removed", status: "False", reason: "WithdrawalAwaited", message, revision }];
}

/** Whether the objects could be made as declared, and agents in them. */
export function deployedCondition(found: readonly Trouble[], revision: number): Said {
  const worst = found.find(([kind]) => troubles[kind].condition === "Deployed");
  if (worst !== undefined) return troubled(worst, revision);
  return { type: "Deployed", status: "True", reason: "Deployed", message: "as declared", revision };
}

/** The list with these in it, one after the other. */
export function withConditions(
  before: readonly Condition[],
  said: readonly Said[],
  now: Date,
): readonly Condition[] {
  return said.reduce((list, one) => withCondition(list, one, now), before);
}

type Judgement = { condition: Said; notice: Notice | undefined };

/**
 * The rollout in words. What was said of a revision that is out stays: nodes that come and go later
 * are not its news. Undefined for what was asked for just now: the next run, 0.2 s later, sees it
 * begin, and until then the nodes need the API.
 */
export function judge(
  progress: Progress,
  conditions: readonly Condition[],
  now: Date,
): Judgement | undefined {
  const { revision, turn, view, standing, fates } = progress;
  const before = conditions.find(
    ({ type, revision: of }) => type === "RolledOut" && of === revision,
  );
  const halts = turn.kind === "roll" && turn.halt !== undefined;
  if (before?.status !== "True" && turn.kind === "roll" && !halts) return undefined;
  const type = "RolledOut";
  const halted = haltOf(progress);
  if (before?.status === "True" && turn.kind !== "roll")
    return { condition: before, notice: halted };
  if (turn.kind === "served") {
    const total = standing?.total ?? view?.desired ?? 0;
    const seconds =
      before === undefined
        ? 0
        : Math.round((now.getTime() - Date.parse(before.lastTransitionTime)) / 1000);
    const missing = pick(fates, "unreachable", "refused", "excused", "failed", "stuck").map(
      ({ name }) => name,
    );
    const notice = messages.rolledOut(revision, standing?.served ?? total, missing, seconds);
    return {
      condition: { type, status: "True", reason: "RolledOut", message: notice.message, revision },
      notice,
    };
  }
  if (halted !== undefined)
    return {
      condition: troubled([kindOf(halted.reason) ?? "halted", halted], revision),
      notice: halted,
    };
  const reason = turn.kind === "wait" ? phaseWords[turn.phase] : "RollingOut";
  return {
    condition: {
      type,
      status: "False",
      reason,
      message: `revision ${revision} is on its way`,
      revision,
    },
    notice: undefined,
  };
}

/** What holds a rollout up, worst first; undefined when nothing was found to. */
export function haltOf({
  revision,
  turn,
  fates,
  rollouts: { halt },
}: Progress): Notice | undefined {
  if (halt !== undefined && turn.kind === "wait" && turn.phase === "held")
    return messages.held(halt);
  if (turn.kind === "wait" && turn.phase === "outage")
    return messages.outage(
      revision,
      pick(fates, "unreachable", "excused").map(({ name }) => name),
    );
  const found = pick(fates, "failed", "stuck");
  const halts = turn.kind === "roll" && turn.halt !== undefined;
  return found.length > 0
    ? messages.halted(halts ? (halt?.revision ?? revision) : revision, found)
    : undefined;
}

const phaseWords = {
  birth: "StartingAgents",
  canary: "OneNodeFirst",
  wave: "RollingOut",
  halted: "Halted",
  held: "Held",
  outage: "NodesOutOfReach",
  interval: "RollingOutLater",
} as const;

/** What is published in view of a halt, and what a turn leaves to remember. Pure. */
import type { RevisionContent } from "#contract/names.ts";
import { pick, type Fates } from "#controller/rollout/turn/node-state.ts";
import {
  afterHalt,
  afterRoll,
  afterServed,
  contentOf,
  heldContent,
  isHeld,
  isTold,
  type AskedContent,
} from "./halt.ts";
import { mostNames, type Rollouts } from "./rollouts.ts";
import type { Turn } from "#controller/rollout/turn/turn.ts";

/**
 * The content that nodes should get: what is wanted or, while that is halted, the order to keep
 * what they have.
 */
export function targetOf(
  rollouts: Rollouts,
  asked: AskedContent,
  wanted: RevisionContent,
  served: { document: string; sources: string } | undefined,
): RevisionContent {
  return isHeld(rollouts, asked) ? heldContent(served) : wanted;
}

type Outcome = Readonly<{
  turn: Turn;
  fates: Fates;
  /** What is published before the turn, and its revision. If anything halts, it is this. */
  current: RevisionContent | undefined;
  revision: number;
  target: RevisionContent;
  /**
   * The Secret was ahead of the template, so agents without a revision of their own could not
   * begin.
   */
  overtaken: boolean;
  /** What is published lacks a source of what was served last. */
  takesBack: boolean;
}>;

/** What to remember before the turn is carried out. */
export function remembered(before: Rollouts, asked: AskedContent, outcome: Outcome): Rollouts {
  const { turn, fates, current, revision, target, overtaken, takesBack } = outcome;
  const troubled = names(fates, "failed", "stuck");
  if ("halt" in turn && turn.halt !== undefined) {
    const nodes = turn.halt === "failed" ? troubled : [];
    const about =
      current === undefined
        ? asked
        : { ...asked, content: contentOf(current), intent: current.intent, takesBack };
    if (turn.kind === "wait" && isTold(before, about, nodes)) return before;
    return afterHalt(before, { asked: about, revision, reason: turn.halt, nodes });
  }
  // Agents that waited for the next template recover with it, so they are not odd.
  const broken = [
    ...(overtaken ? names(fates, "failed") : troubled),
    ...names(fates, "excused", "refused"),
  ];
  if (turn.kind === "served") return afterServed(before, broken);
  const rolls = turn.kind === "roll" && turn.revision === "published" && target.intent !== "hold";
  if (rolls) return afterRoll(before, asked, broken);
  // A repair makes younger pods of the same revision, so nodes that were excused stay so.
  const repairs = turn.kind === "roll" && broken.length > 0;
  return repairs
    ? { ...before, excused: [...new Set([...before.excused, ...broken])].slice(0, mostNames) }
    : before;
}

function names(fates: Fates, ...wanted: Parameters<typeof pick>[1][]): string[] {
  return pick(fates, ...wanted).map(({ name }) => name);
}

/** True when this turn writes what is pending into global-pull-secret. */
export function publishesIn(turn: Turn): boolean {
  if (turn.kind === "roll") return turn.revision === "published" || turn.revision === 0;
  return turn.kind === "wait" && turn.publish === true;
}

/** True when every node that can have the template's revision had it before the turn. */
export function wasServed(turn: Turn): boolean {
  return turn.kind === "served" || (turn.kind !== "survey" && turn.served === true);
}

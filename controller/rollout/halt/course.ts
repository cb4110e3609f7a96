/**
 * What is to be published in view of what halted, and what a turn leaves to be remembered. Pure.
 */
import type { Content } from "#contract/names.ts";
import { pick, type Fates } from "#controller/rollout/turn/node-state.ts";
import {
  afterHalt,
  afterRoll,
  afterServed,
  contentOf,
  heldContent,
  isHeld,
  isTold,
  mostNames,
  type Asked,
  type Rollouts,
} from "./halt.ts";
import type { Turn } from "#controller/rollout/turn/turn.ts";

/**
 * What the nodes should be told: what is wanted, or, while that is halted, to keep what they have.
 */
export function targetOf(
  rollouts: Rollouts,
  asked: Asked,
  wanted: Content,
  served: { document: string; sources: string } | undefined,
): Content {
  return isHeld(rollouts, asked) ? heldContent(served) : wanted;
}

type Outcome = Readonly<{
  turn: Turn;
  fates: Fates;
  /** What is published before the turn, and its revision: what halts when something halts. */
  current: Content | undefined;
  revision: number;
  target: Content;
  /** The Secret was ahead of the template: agents without a revision of theirs could not begin. */
  overtaken: boolean;
  /** What is published lacks a source of what was served last. */
  takesBack: boolean;
}>;

/** What to remember before the turn is carried out. */
export function remembered(before: Rollouts, asked: Asked, outcome: Outcome): Rollouts {
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
  // Agents that waited for the next template recover with it: they are not odd.
  const broken = [
    ...(overtaken ? names(fates, "failed") : troubled),
    ...names(fates, "excused", "refused"),
  ];
  if (turn.kind === "served") return afterServed(before, broken);
  const rolls = turn.kind === "roll" && turn.revision === "published" && target.intent !== "hold";
  if (rolls) return afterRoll(before, asked, broken);
  // A repair: the same revision, younger pods.
  const repairs = turn.kind === "roll" && broken.length > 0;
  return repairs
    ? { ...before, excused: [...new Set([...before.excused, ...broken])].slice(0, mostNames) }
    : before;
}

function names(fates: Fates, ...wanted: Parameters<typeof pick>[1][]): string[] {
  return pick(fates, ...wanted).map(({ name }) => name);
}

/** True when what is pending goes into global-pull-secret with this turn. */
export function publishesIn(turn: Turn): boolean {
  if (turn.kind === "roll") return turn.revision === "published" || turn.revision === 0;
  return turn.kind === "wait" && turn.publish === true;
}

/** True when every node that can have the template's revision had it, before the turn. */
export function wasServed(turn: Turn): boolean {
  return turn.kind === "served" || (turn.kind !== "survey" && turn.served === true);
}

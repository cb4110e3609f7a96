/**
 * What a halt leaves behind: which content halted, on which nodes, and when it is tried again.
 * Pure. Until then nodes are told to keep what they have. The next try tells whether the nodes or
 * the content were at fault.
 */
import { createHash } from "node:crypto";
import type { RevisionContent, Intent } from "#contract/names.ts";
import { nobody, type Excuses } from "#controller/rollout/turn/node-state.ts";
import type { HaltReason } from "#controller/rollout/turn/turn.ts";
import { mostNames, type Halt, type Rollouts } from "./rollouts.ts";

/**
 * Pause before the first retry, in milliseconds: 10 minutes, as long as a node quarantines a
 * content. It doubles, to 6 hours at most.
 */
const firstPause = 600_000;
const longestPause = 6 * 3_600_000;

export function contentOf({ document, sources, intent }: RevisionContent): string {
  return createHash("sha256")
    .update(JSON.stringify([intent, sources, document]))
    .digest("hex");
}

/**
 * The order to keep what is there. A node that has nothing of ours gets the last served document,
 * or none.
 */
export function heldContent(
  served: { document: string; sources: string } | undefined,
): RevisionContent {
  return {
    document: served?.document ?? '{"auths":{}}',
    sources: served?.sources ?? "{}",
    intent: "hold",
  };
}

export type AskedContent = Readonly<{
  content: string;
  intent: Intent;
  /** It lacks a source of what was served: a withdrawal, which is never held. */
  takesBack: boolean;
  retry: string;
  now: Date;
}>;

/** True while the wanted content must not be published: it halted, and no retry is due. */
export function isHeld({ halt }: Rollouts, asked: AskedContent): boolean {
  return isHoldable(asked) && halt?.content === asked.content && !isDue(halt, asked);
}

const isHoldable = ({ intent, takesBack }: Pick<AskedContent, "intent" | "takesBack">) =>
  intent === "apply" && !takesBack;

function isDue(halt: Halt, asked: AskedContent): boolean {
  return isNewWish(halt, asked) || pauseLeft(halt, asked) === 0;
}

/**
 * True when a retry is asked for that was not when it halted. Removing the annotation, from one of
 * the two objects as well, asks for nothing.
 */
export function isNewWish(halt: Halt, { retry }: Pick<AskedContent, "retry">): boolean {
  const known = new Set(halt.asked.split(" "));
  return retry !== "" && retry.split(" ").some((word) => !known.has(word));
}

/** Seconds until the next try; 0 when there is nothing to wait for. */
export function retrySeconds({ halt }: Rollouts, { now }: Pick<AskedContent, "now">): number {
  return halt === undefined ? 0 : pauseLeft(halt, { now }) / 1000;
}

/**
 * Milliseconds until the next try. A time further away than any pause was written by a clock ahead
 * of this one, so the try is due at once rather than in a year.
 */
function pauseLeft({ retryAt }: Halt, { now }: Pick<AskedContent, "now">): number {
  const left = Date.parse(retryAt) - now.getTime();
  return left > longestPause ? 0 : Math.max(0, left);
}

/** Nodes whose trouble is known already under the present template. */
export function knownOf({ halt, excused }: Rollouts, asked: AskedContent): Excuses {
  const again = halt !== undefined && halt.content === asked.content && isDue(halt, asked);
  return {
    ...nobody,
    excused: new Set(excused),
    failed: again ? new Set(halt.nodes) : nobody.failed,
  };
}

/**
 * What to remember after a halt. After an outage there is no pause: the next try waits for the
 * nodes, not for a time.
 */
export function afterHalt(
  before: Rollouts,
  {
    asked,
    revision,
    reason,
    nodes,
  }: { asked: AskedContent; revision: number; reason: HaltReason; nodes: readonly string[] },
): Rollouts {
  const { content, now, retry } = asked;
  const last = before.halt?.content === content ? before.halt : undefined;
  // After a failure, an outage in the retry counts as one, too. Nodes that fail again are also
  // unreachable, and such an outage does not end by itself.
  const failed = reason === "failed" || (last !== undefined && last.reason !== "outage");
  const all = [...new Set([...(last?.nodes ?? []), ...nodes])].slice(0, mostNames);
  // A withdrawal is never taken back and published again, so each of its halts counts as a try.
  const tries = last === undefined ? 0 : last.tries + (isHoldable(asked) ? 0 : 1);
  const elsewhere =
    last !== undefined && last.nodes.length > 0 && nodes.some((name) => !last.nodes.includes(name));
  const pause = failed ? Math.min(longestPause, firstPause * 2 ** Math.min(tries, 20)) : 0;
  const halt: Halt = {
    content,
    revision,
    reason: !failed ? "outage" : elsewhere || last?.reason === "stalled" ? "stalled" : "failed",
    nodes: all,
    since: last?.since ?? now.toISOString(),
    tries,
    retryAt: new Date(now.getTime() + pause).toISOString(),
    asked: retry,
  };
  return { ...before, halt };
}

/**
 * What to remember when a revision goes to the nodes. `excused`: those that are alive but
 * unavailable now.
 */
export function afterRoll(
  before: Rollouts,
  asked: AskedContent,
  excused: readonly string[],
): Rollouts {
  const { halt } = before;
  const again = asked.intent === "apply" && halt?.content === asked.content;
  return {
    halt: again
      ? {
          ...halt,
          tries: halt.tries + (halt.reason === "outage" ? 0 : 1),
          retryAt: asked.now.toISOString(),
          asked: asked.retry,
        }
      : undefined,
    excused: excused.slice(0, mostNames),
    rolledAt: asked.now.toISOString(),
  };
}

/** True when a halt adds nothing to what is remembered. */
export function isTold(
  { halt }: Rollouts,
  { content }: AskedContent,
  nodes: readonly string[],
): boolean {
  return halt?.content === content && nodes.every((name) => halt.nodes.includes(name));
}

/**
 * What to remember once every node that can be served has it. A node that failed with it is at
 * fault itself, and stays excused.
 */
export function afterServed(before: Rollouts, excused: readonly string[]): Rollouts {
  return { ...before, halt: undefined, excused: excused.slice(0, mostNames) };
}

/** What a rollout must remember that no object tells, and how it is read again. Pure. */
import type { Intent } from "#contract/names.ts";
import type { HaltReason } from "#controller/rollout/turn/turn.ts";

export type Halt = Readonly<{
  /**
   * Digest of the content that halted. The Secret that keeps it holds the content as well, so it
   * gives nothing away.
   */
  content: string;
  revision: number;
  /** `stalled`: in a retry it failed on other nodes. */
  reason: HaltReason | "stalled";
  /** Names of the nodes that failed with it, over all tries. */
  nodes: readonly string[];
  since: string;
  /** How often it was tried again. */
  tries: number;
  retryAt: string;
  /**
   * The retry that had been asked for by annotation when it halted. Another value is a new request.
   */
  asked: string;
}>;

/** What a rollout must remember that no object tells. */
export type Rollouts = Readonly<{
  halt: Halt | undefined;
  /** Names of the nodes that were alive but unavailable when the present template came. */
  excused: readonly string[];
  /** When the last rollout of a change began. */
  rolledAt: string | undefined;
}>;

/**
 * Most names in a list. Both lists together are 4,000 of 50 characters: 200 KB of the 1 MiB that a
 * Secret holds.
 */
export const mostNames = 2000;

export const noRollouts: Rollouts = { halt: undefined, excused: [], rolledAt: undefined };

/** Reads what was remembered. Whatever is malformed reads as nothing. */
export function readRollouts(value: unknown): Rollouts {
  if (typeof value !== "object" || value === null) return noRollouts;
  const { halt, excused, rolledAt } = value as Record<string, unknown>;
  return {
    halt: readHalt(halt),
    excused: names(excused),
    rolledAt: isTime(rolledAt) ? rolledAt : undefined,
  };
}

type RolledBefore = Readonly<{ served: { intent: Intent } | undefined; halted: unknown }>;

/**
 * True when a revision above 0 may have reached a node, by what is remembered. It is written before
 * the revision is, so it also tells where everything else was deleted by hand.
 */
export const hasRolled = ({ served, halted }: RolledBefore): boolean =>
  (served !== undefined && served.intent !== "release") ||
  readRollouts(halted).rolledAt !== undefined;

function readHalt(value: unknown): Halt | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { content, revision, reason, nodes, since, tries, retryAt, asked } = value as Record<
    string,
    unknown
  >;
  const known = reason === "failed" || reason === "outage" || reason === "stalled";
  if (
    typeof content !== "string" ||
    typeof asked !== "string" ||
    !known ||
    !isTime(since) ||
    !isTime(retryAt)
  )
    return undefined;
  return {
    content,
    revision: count(revision),
    reason,
    nodes: names(nodes),
    since,
    tries: count(tries),
    retryAt,
    asked,
  };
}

const names = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
const count = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
const isTime = (value: unknown): value is string =>
  typeof value === "string" && !Number.isNaN(Date.parse(value));

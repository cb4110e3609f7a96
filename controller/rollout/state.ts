/** What a rollout must remember that no other object tells: read from and written to JSON. Pure. */
import { createHash } from "node:crypto";
import type { RevisionContent } from "#contract/names.ts";
import { mostListed, stateOf, type StateFacts } from "./facts.ts";

/** Reads what was remembered. Whatever is malformed reads as nothing. */
export function readRollout(value: unknown): StateFacts {
  const found = (typeof value === "object" && value !== null ? value : {}) as Partial<
    Record<keyof StateFacts, unknown>
  >;
  const retry = typeof found.retry === "string" ? found.retry : "";
  const none = stateOf(0, { retry, replaced: namesOf(found.replaced) });
  if (!Number.isSafeInteger(found.revision) || (found.revision as number) < 0) return none;
  return {
    ...none,
    revision: found.revision as number,
    word: found.word === true,
    base: timeOf(found.base),
    awaited: timeOf(found.awaited),
    canary: readCanary(found.canary),
    halted: found.halted === true,
    failed: namesOf(found.failed),
    lost: namesOf(found.lost),
  };
}

const timeOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : -1;

/**
 * What a content is recognized by after its Secret was lost. Not salted: the state holds the
 * documents of the sources anyway.
 */
export const contentHash = ({ intent, sources, document }: RevisionContent): string =>
  createHash("sha256")
    .update(JSON.stringify([intent, sources, document]))
    .digest("hex");

/** The hash of the content that was published when this was written; undefined if unknown. */
export const contentIn = (value: unknown): unknown =>
  typeof value === "object" && value !== null
    ? (value as { content?: unknown }).content
    : undefined;

function readCanary(value: unknown): StateFacts["canary"] {
  if (typeof value !== "object" || value === null) return undefined;
  const { node, uid } = value as Record<string, unknown>;
  return typeof node === "string" && typeof uid === "string" ? { node, uid } : undefined;
}

const namesOf = (value: unknown): readonly string[] =>
  Array.isArray(value)
    ? value.filter((one): one is string => typeof one === "string").slice(0, mostListed)
    : [];

/** Most characters of a request that count: a time has ten. */
const longestRetry = 256;

/**
 * The requests for a retry, as one text that differs from the `known` one if there is a new
 * request. Several objects may ask, each by a value of its own. The last value of each is kept when
 * it is removed, so that a removed annotation asks for nothing, and neither does one that returns.
 */
export function retryOf(asked: readonly string[], known: string): string {
  const before = readRequests(known);
  const values = asked.map((value, at) => value.slice(0, longestRetry) || (before[at] ?? ""));
  return values.every((value, at) => value === (before[at] ?? "")) ? known : JSON.stringify(values);
}

function readRequests(known: string): readonly string[] {
  try {
    const found: unknown = JSON.parse(known);
    return Array.isArray(found) ? found.map((one) => (typeof one === "string" ? one : "")) : [];
  } catch {
    return [];
  }
}

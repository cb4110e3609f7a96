/**
 * From the sources to the document that should be on the nodes. A source that is not acceptable, or
 * cannot be read, is replaced by its own last accepted document, so an invalid source never stops
 * the rotation of the others.
 */
import { sourceIds, type RevisionContent } from "#contract/names.ts";
import type { MergePolicy } from "#pullsecret/merge/merge.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import { suppliersIn, type Published } from "../objects/global-secret.ts";
import type { RememberedState } from "../objects/state.ts";
import { choose, type JoinedSources, type SourceReading } from "./choice.ts";
import type { SourceInput } from "./input.ts";
import { readSource, type Remembered } from "./source.ts";
import { registriesOf, verdictOf, type RegistryVerdict, type SourceVerdict } from "./verdict.ts";

/** The content that global-pull-secret should have, whatever its revision. */
export type WantedContent = RevisionContent & Readonly<{ entries: number; fromAdditional: number }>;

export type SourcesVerdict = Readonly<{
  /** Undefined when there is nothing to deploy; then nothing is deployed. */
  wanted: WantedContent | undefined;
  /** What is wrong with additional-pull-secret and the original; empty when in order or absent. */
  problems: Readonly<Record<keyof typeof sourceIds, readonly Problem[]>>;
  warnings: readonly Problem[];
  /** Each source that exists or should, highest first, the original last. */
  sources: readonly SourceVerdict[];
  /** Which source supplies each registry of `wanted`, sorted; empty when nothing new is wanted. */
  registries: readonly RegistryVerdict[];
  /** The original could not be read, which is no fault in the original itself. */
  unknown: boolean;
  /** When the entries of the absent additional Secret are taken back; undefined when it exists. */
  withdrawsAt: Date | undefined;
  /** Source id → the document to remember as its last accepted one. */
  accepted: RememberedState["accepted"];
}>;

/** `input`: highest first, the original last. */
export type Sources = Remembered & Readonly<{ inputs: readonly SourceInput[] }>;

/** True when no source but the original supplies anything, so that there is nothing to apply. */
export function noSourceApplies({ inputs, ...known }: Sources): boolean {
  return !inputs.some((one) => {
    if (one.applies === "whilePresent") return one.found !== "absent";
    return one.applies === "onceAccepted" && readSource(one, known).now.present;
  });
}

/**
 * Judges the sources. Never throws. Where only the original is left there is always an answer,
 * because a withdrawal cannot be refused.
 */
export function accept({ inputs, ...known }: Sources, asked: MergePolicy): SourcesVerdict {
  const readings = inputs.map((input) => ({ input, ...readSource(input, known) }));
  const applying = readings.filter(
    ({ input: { applies }, now }) => applies !== "never" && now.present,
  );
  // Protection is against sources other than the original. A registry that cannot be protected must
  // not stop a withdrawal.
  const policy = applying.length === 0 ? { ...asked, protect: [] } : asked;
  // Every source is invalid and never was valid, so there is nothing to put on a node.
  const allInvalid = applying.length > 0 && applying.every(({ now }) => now.entries === undefined);
  if (allInvalid) return refused(readings, undefined, known, []);
  const chosen = choose(readings, policy);
  if (!chosen.ok) return refused(readings, asPublished(known.published), known, chosen.problems);
  return judged(readings, chosen, applying.length > 0);
}

function judged(
  readings: readonly SourceReading[],
  chosen: JoinedSources,
  apply: boolean,
): SourcesVerdict {
  const { choices, merged, document, sources } = chosen;
  const problemsOf = (id: string) =>
    choices.find(({ input }) => input.id === id)?.source.problems ?? [];
  const problems = { additional: problemsOf("additional"), original: problemsOf("original") };
  const texts = choices.flatMap(({ input: { id }, source: { text } }) =>
    text === undefined ? [] : [[id, text] as const],
  );
  return {
    wanted: {
      document,
      sources,
      // Taken from the sources, not from the entries: even if every entry is labelled as the
      // original's, another source may exist.
      intent: apply ? "apply" : "release",
      entries: merged.entries.length,
      fromAdditional: merged.entries.filter(({ from }) => from === sourceIds.additional).length,
    },
    problems,
    warnings: problems.additional.length > 0 ? [] : merged.warnings,
    sources: choices.flatMap(({ input, source, leftOut }) =>
      verdictOf(input, source.problems, source.entries !== undefined, leftOut),
    ),
    registries: registriesOf(merged.entries),
    unknown: isUnknown(readings),
    withdrawsAt: undefined,
    accepted: Object.fromEntries(texts),
  };
}

/**
 * The verdict when nothing new is accepted; what is remembered stays. `problems`: what is wrong
 * with the additional Secret.
 */
function refused(
  readings: readonly SourceReading[],
  wanted: WantedContent | undefined,
  { state }: Remembered,
  problems: readonly Problem[],
): SourcesVerdict {
  const problemsOf = (id: string) => readings.find(({ input }) => input.id === id)?.now.problems;
  const additional = problems.length > 0 ? problems : (problemsOf("additional") ?? []);
  return {
    wanted,
    problems: { additional, original: problemsOf("original") ?? [] },
    warnings: [],
    sources: readings.flatMap(({ input, now }) => {
      const found = input.id === sourceIds.additional ? additional : now.problems;
      return verdictOf(input, found, wanted !== undefined && now.entries !== undefined, false);
    }),
    registries: [],
    unknown: isUnknown(readings),
    withdrawsAt: undefined,
    accepted: state.accepted,
  };
}

const isUnknown = (readings: readonly SourceReading[]) =>
  readings.some(({ input }) => input.applies === "never" && input.found === "unknown");

/**
 * What is published, when a changed flag makes even that unacceptable. It stays in force, and its
 * objects are kept in repair.
 */
function asPublished(published: Published | undefined): WantedContent | undefined {
  if (published?.intent !== "apply") return undefined;
  const froms = Object.values(suppliersIn(published));
  const fromAdditional = froms.filter((from) => from === sourceIds.additional).length;
  const { document, sources, intent } = published;
  return { document, sources, intent, entries: froms.length, fromAdditional };
}

/**
 * Judges the sources and merges them into the document for the nodes. If a source is not acceptable
 * or cannot be read, its last accepted document is used instead. So an invalid source never stops
 * the rotation of the other sources.
 */
import { sourceIds, type RevisionContent } from "#contract/names.ts";
import type { MergedEntry, MergePolicy } from "#pullsecret/merge/merge.ts";
import type { Entry } from "#pullsecret/document/parse.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { suppliersIn, type Published } from "../objects/global-secret.ts";
import type { RememberedState } from "../objects/state.ts";
import { choose, type JoinedSources, type SourceReading } from "./choice.ts";
import type { SourceInput, Withdrawal } from "./input.ts";
import { nothing, readSource, type Remembered } from "./source.ts";
import { registriesOf, verdictOf, type RegistryVerdict, type SourceVerdict } from "./verdict.ts";

/** The content for global-pull-secret, without a revision. */
export type WantedContent = RevisionContent & Readonly<{ entries: number; fromAdditional: number }>;

export type SourcesVerdict = Readonly<{
  /** Undefined: nothing to deploy. */
  target: WantedContent | undefined;
  /**
   * Problems of additional-pull-secret and of the original. Empty if a source is accepted or
   * absent.
   */
  problems: Readonly<Record<keyof typeof sourceIds, readonly Problem[]>>;
  warnings: readonly Problem[];
  /** Each source that exists or is declared, highest priority first, the original last. */
  sources: readonly SourceVerdict[];
  /** Which source supplies each registry of `target`, sorted. Empty when nothing new is wanted. */
  registries: readonly RegistryVerdict[];
  /** True if the original could not be read. Its content can nevertheless be valid. */
  unknown: boolean;
  /** The withdrawal of the additional Secret. Undefined if nothing of it will be removed. */
  withdraws: Withdrawal | undefined;
  /** Source id → the document to record as the source's last accepted document. */
  accepted: RememberedState["accepted"];
  /** The entries of `target`. Empty when nothing new is wanted. */
  entries: readonly JudgedEntry[];
  /** New entries that another source overrides now. They come into force if it leaves. */
  overridden: readonly JudgedEntry[];
  /** Registries and images that deny a credential which is in force. */
  denials: readonly Problem[];
}>;

/** `isNew`: the last accepted document of the source does not have this credential. */
type JudgedEntry = MergedEntry & Readonly<{ isNew: boolean }>;

/**
 * Source id → why its present document must not be used, although it is valid. Empty: its
 * registries are being asked about it.
 */
export type Withheld = ReadonlyMap<string, readonly Problem[]>;

/** `inputs`: highest priority first, the original last. */
export type Sources = Remembered &
  Readonly<{ inputs: readonly SourceInput[]; withheld?: Withheld }>;

/** True when no source except the original supplies anything, so there is nothing to apply. */
export function noSourceApplies({ inputs, withheld, ...remembered }: Sources): boolean {
  return !inputs.some((input) => {
    if (input.applies === "whilePresent") return input.lookup !== "absent";
    return input.applies === "onceAccepted" && read(input, remembered, withheld).now.present;
  });
}

/** Reads a source, with its last accepted document instead of one that is withheld. */
function read(input: SourceInput, remembered: Remembered, withheld: Withheld = new Map()) {
  const reading: SourceReading = { input, ...readSource(input, remembered) };
  const reasons = withheld.get(input.id);
  if (reasons === undefined) return reading;
  const { now, before } = reading;
  // An extra source that was only denied so far supplies nothing, so it cannot block a withdrawal.
  const isDenied = reasons.length > 0 && !input.core && before === undefined;
  const fallback = { ...nothing, ...before, present: now.present && !isDenied };
  return { ...reading, now: { ...fallback, problems: [...now.problems, ...reasons] } };
}

/**
 * Judges the sources. Never throws. If only the original is left, `target` is always defined,
 * because a withdrawal cannot be refused.
 */
export function accept(
  { inputs, withheld, ...remembered }: Sources,
  asked: MergePolicy,
): SourcesVerdict {
  const readings = inputs.map((input) => read(input, remembered, withheld));
  const applying = readings.filter(
    ({ input: { applies }, now }) => applies !== "never" && now.present,
  );
  // Protection applies to all sources except the original. Without other sources, an invalid
  // protected registry must not stop the withdrawal.
  const policy = applying.length === 0 ? { ...asked, protect: [] } : asked;
  // If every source is invalid and has never been valid, there is nothing to put on a node.
  const allInvalid = applying.length > 0 && applying.every(({ now }) => now.entries === undefined);
  if (allInvalid) return refused(readings, undefined, remembered, []);
  const chosen = choose(readings, policy);
  if (!chosen.ok)
    return refused(readings, asPublished(remembered.published), remembered, chosen.problems);
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
    target: {
      document,
      sources,
      // The intent depends on the sources and not on the entries. Even if every entry has the
      // original's label, another source can exist.
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
    withdraws: undefined,
    accepted: Object.fromEntries(texts),
    ...judgedIn(merged.entries, choices, readings),
    denials: [],
  };
}

/** Marks the entries that the last accepted document of their source does not have. */
function judgedIn(
  merged: readonly MergedEntry[],
  choices: JoinedSources["choices"],
  readings: readonly SourceReading[],
): Pick<SourcesVerdict, "entries" | "overridden"> {
  const nameIn = (from: string, { registry, credential }: Entry) =>
    JSON.stringify([from, imagesOf(registry), credential.encode()]);
  const before = readings.flatMap(({ input: { id }, before }) =>
    (before?.entries?.entries ?? []).map((entry) => nameIn(id, entry)),
  );
  const accepted = new Set(before);
  const judge = (entry: MergedEntry) => {
    return { ...entry, isNew: !accepted.has(nameIn(entry.from, entry)) };
  };
  const inForce = new Set(merged.map((entry) => nameIn(entry.from, entry)));
  const others = choices.flatMap(({ input: { id }, source: { entries } }) =>
    (entries?.entries ?? [])
      .filter((entry) => !inForce.has(nameIn(id, entry)))
      .map((entry) => judge({ ...entry, from: id, shadows: [] })),
  );
  return { entries: merged.map(judge), overridden: others.filter(({ isNew }) => isNew) };
}

/**
 * The verdict when nothing new is accepted. The state keeps the recorded documents. `problems`:
 * those of the additional Secret.
 */
function refused(
  readings: readonly SourceReading[],
  target: WantedContent | undefined,
  { state }: Remembered,
  problems: readonly Problem[],
): SourcesVerdict {
  const problemsOf = (id: string) => readings.find(({ input }) => input.id === id)?.now.problems;
  const additional = problems.length > 0 ? problems : (problemsOf("additional") ?? []);
  return {
    target,
    problems: { additional, original: problemsOf("original") ?? [] },
    warnings: [],
    sources: readings.flatMap(({ input, now }) => {
      const sourceProblems = input.id === sourceIds.additional ? additional : now.problems;
      return verdictOf(
        input,
        sourceProblems,
        target !== undefined && now.entries !== undefined,
        false,
      );
    }),
    registries: [],
    unknown: isUnknown(readings),
    withdraws: undefined,
    accepted: state.accepted,
    entries: [],
    overridden: [],
    denials: [],
  };
}

const isUnknown = (readings: readonly SourceReading[]) =>
  readings.some(({ input }) => input.applies === "never" && input.lookup === "unknown");

/**
 * The published content. This content stays in force even if a changed flag makes it unacceptable,
 * and the controller still repairs our objects.
 */
function asPublished(published: Published | undefined): WantedContent | undefined {
  if (published?.intent !== "apply") return undefined;
  const froms = Object.values(suppliersIn(published));
  const fromAdditional = froms.filter((from) => from === sourceIds.additional).length;
  const { document, sources, intent } = published;
  return { document, sources, intent, entries: froms.length, fromAdditional };
}

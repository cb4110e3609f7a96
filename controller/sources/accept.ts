/**
 * From the sources to the document that should be on the nodes. A source that is not acceptable, or
 * that cannot be asked for, is replaced by its own last accepted document: an invalid additional
 * never stops the original's rotation.
 */
import { canonical, sourcesOf } from "#pullsecret/canonical.ts";
import { bytesOf, judgeSize } from "#pullsecret/capacity.ts";
import { merge, type MergePolicy } from "#pullsecret/merge.ts";
import type { Content } from "#contract/names.ts";
import type { Problem } from "#pullsecret/problems.ts";
import type { Role } from "#pullsecret/report.ts";
import type { Published } from "../objects/global-secret.ts";
import {
  readAdditional,
  readOriginal,
  type Additional,
  type Original,
  type Source,
} from "./source.ts";
import type { State } from "../objects/state.ts";

/** What global-pull-secret should say, whatever its revision. */
export type Wanted = Content & Readonly<{ entries: number; fromAdditional: number }>;

export type Verdict = Readonly<{
  /** undefined: there is nothing that could be deployed, and nothing is. */
  wanted: Wanted | undefined;
  /** What is wrong with each source; empty when it is in order or absent. */
  problems: Readonly<Record<Role, readonly Problem[]>>;
  warnings: readonly Problem[];
  /** The original could not be asked for: its problem is none of its own. */
  unknown: boolean;
  /** The additional Secret is absent, and from then on its entries are taken back. */
  withdrawsAt: Date | undefined;
  /** Source id → its last accepted document from now on, to be remembered. */
  accepted: State["accepted"];
}>;

export type Sources = Readonly<{
  additional: Additional;
  original: Original;
  /** Name of the original as the flag gives it; undefined when none was asked for. */
  originalName: string | undefined;
  published: Published | undefined;
  state: State;
}>;

type Pair = Readonly<Record<Role, Source>>;
const nothing: Source = { entries: undefined, text: undefined, problems: [], present: false };

/**
 * Judges the sources. Never throws, and an absent additional always has an answer: withdrawing
 * cannot be refused.
 */
export function accept(sources: Sources, asked: MergePolicy): Verdict {
  const original = readOriginal(sources);
  const additional = readAdditional(sources);
  // Protection is from additional entries; a registry that cannot be protected must not stop a
  // withdrawal.
  const policy = sources.additional === undefined ? { ...asked, protect: [] } : asked;
  const unknown = sources.originalName !== undefined && sources.original === "unknown";
  const none = {
    wanted: undefined,
    warnings: [],
    unknown,
    withdrawsAt: undefined,
    accepted: sources.state.accepted,
  };
  const problems = { original: original.now.problems, additional: additional.now.problems };
  // Invalid, and never good: there is nothing to put on a node.
  if (additional.now.present && additional.now.entries === undefined) return { ...none, problems };

  const now: Pair = { original: original.now, additional: additional.now };
  const first = join(now, policy);
  if (first.ok) return { ...none, ...first.verdict };
  // They do not go together: the one that is not to blame keeps flowing. Two that did once always
  // do.
  const refused = (source: Source, before: Source | undefined): Source | undefined =>
    before && {
      ...before,
      present: source.present,
      problems: [...source.problems, ...first.problems],
    };
  const older = refused(additional.now, additional.before);
  const olderOriginal = refused(original.now, original.before) ?? {
    ...nothing,
    problems: first.problems,
  };
  const pairs: readonly (Pair | false | undefined)[] = [
    now.additional.present && older && { ...now, additional: older },
    { ...now, original: olderOriginal },
    older && { original: olderOriginal, additional: older },
    !now.additional.present && {
      original: { ...nothing, problems: first.problems },
      additional: nothing,
    },
  ];
  for (const pair of pairs) {
    const joined = pair ? join(pair, policy) : undefined;
    if (joined?.ok) return { ...none, ...joined.verdict };
  }
  const blamed = { original: original.now.problems, additional: first.problems };
  return { ...none, problems: blamed, wanted: asPublished(sources.published) };
}

type Joined =
  | { ok: true; verdict: Omit<Verdict, "unknown" | "withdrawsAt"> }
  | { ok: false; problems: readonly Problem[] };

function join({ original, additional }: Pair, policy: MergePolicy): Joined {
  const merged = merge(
    Object.entries({ additional, original }).flatMap(([id, { entries }]) =>
      entries === undefined ? [] : [{ id, accepted: entries }],
    ),
    policy,
  );
  if (!merged.ok) return merged;
  const wanted: Wanted = {
    document: canonical(merged),
    sources: JSON.stringify(sourcesOf(merged)),
    // Said by who knows: whether any entry is labelled additional does not tell whether there is an
    // additional Secret.
    intent: additional.present ? "apply" : "release",
    entries: merged.entries.length,
    fromAdditional: merged.entries.filter(({ from }) => from === "additional").length,
  };
  const excess = judgeSize(
    bytesOf(original.text, additional.text),
    wanted.document,
    wanted.sources,
  );
  if (excess !== undefined) return { ok: false, problems: [excess] };
  const accepted = Object.fromEntries(
    Object.entries({ original: original.text, additional: additional.text }).filter(
      ([, text]) => text !== undefined,
    ),
  ) as State["accepted"];
  const problems = { original: original.problems, additional: additional.problems };
  const warnings = additional.problems.length > 0 ? [] : merged.warnings;
  return { ok: true, verdict: { wanted, problems, warnings, accepted } };
}

/**
 * A flag that was changed can make even what is in force unacceptable. It stays, and its objects
 * are kept in repair.
 */
function asPublished(published: Published | undefined): Wanted | undefined {
  if (published === undefined || published.revision === 0 || published.intent !== "apply")
    return undefined;
  const froms = Object.values(published.sources);
  const fromAdditional = froms.filter((from) => from === "additional").length;
  const { document, sourcesText, intent } = published;
  return { document, sources: sourcesText, intent, entries: froms.length, fromAdditional };
}

/**
 * Chooses which document of each source goes into the merge: the present document, the last
 * accepted document, or no document. Pure. The documents of the additional Secret and the original
 * are chosen first, as if there were no other source. Then the document of each extra source is
 * added if it fits, highest priority first. So no extra source can block another source.
 */
import { bytesOf } from "#pullsecret/merge/capacity.ts";
import { joinSources, type Joined } from "#pullsecret/merge/join.ts";
import type { MergePolicy } from "#pullsecret/merge/merge.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import type { SourceInput } from "./input.ts";
import { nothing, type ReadSource, type Supply } from "./source.ts";

/** A source with its documents. Sources are ordered highest priority first, the original last. */
export type SourceReading = Readonly<{ input: SourceInput }> & ReadSource;

/**
 * The chosen document of a source. `leftOut`: the source is acceptable, but exceeds a limit when it
 * is merged with the sources of higher priority.
 */
type Choice = Readonly<{ input: SourceInput; source: Supply; leftOut: boolean }>;

export type JoinedSources = Extract<Joined, { ok: true }> &
  Readonly<{ choices: readonly Choice[] }>;
type Outcome = JoinedSources | Readonly<{ ok: false; problems: readonly Problem[] }>;

/**
 * Chooses a document of each source. `ok` is false if a changed flag forbids even the documents
 * that were accepted before.
 */
export function choose(readings: readonly SourceReading[], policy: MergePolicy): Outcome {
  const all = join(
    readings.map((reading) => take(reading, reading.now)),
    policy,
  );
  if (all.ok) return all;
  const others = readings.some(({ input, now }) => !input.core && now.present);
  const core = readings.filter(({ input }) => input.core);
  let joined = chooseCore(core, policy, others);
  for (const reading of readings) {
    if (!joined.ok) return joined;
    if (!reading.input.core) joined = withExtra(joined, reading, readings, policy);
  }
  return joined;
}

const take = ({ input }: SourceReading, source: Supply, leftOut = false): Choice => ({
  input,
  source,
  leftOut,
});

/** True for the original. The entries of other sources are added to it. */
const isBase = ({ input }: SourceReading) => input.applies === "never";

/**
 * Chooses the documents of the additional Secret and the original, so that a refused source does
 * not delay changes of the other source. `others`: there are extra sources, so an additional Secret
 * that was never in force can be left out.
 */
function chooseCore(core: readonly SourceReading[], policy: MergePolicy, others: boolean): Outcome {
  const first = join(
    core.map((reading) => take(reading, reading.now)),
    policy,
  );
  if (first.ok) return first;
  const fallback = ({ now, before }: SourceReading, other = before): Supply | undefined =>
    other && { ...other, present: now.present, problems: [...now.problems, ...first.problems] };
  const older = (reading: SourceReading): Supply | undefined =>
    isBase(reading)
      ? (fallback(reading) ?? { ...nothing, problems: first.problems })
      : (fallback(reading) ?? (others ? fallback(reading, nothing) : undefined));
  const attempt = (
    pick: (reading: SourceReading) => Supply | undefined,
  ): readonly Choice[] | undefined => {
    const sources = core.map(pick);
    return sources.includes(undefined)
      ? undefined
      : core.map((reading, at) => take(reading, sources[at] ?? nothing));
  };
  const applies = core.some((reading) => !isBase(reading) && reading.now.present);
  // Two documents that once fitted together always fit together, unless the policy changes.
  const attempts = [
    applies ? attempt((reading) => (isBase(reading) ? reading.now : older(reading))) : undefined,
    attempt((reading) => (isBase(reading) ? older(reading) : reading.now)),
    applies ? attempt(older) : undefined,
    applies
      ? undefined
      : attempt((reading) =>
          isBase(reading) ? { ...nothing, problems: first.problems } : reading.now,
        ),
  ];
  for (const choices of attempts) {
    const joined = choices && join(choices, policy);
    if (joined?.ok) return joined;
  }
  return first;
}

/**
 * Adds the current document of the extra source if it fits, or else its last accepted document if
 * that one fits.
 */
function withExtra(
  joined: JoinedSources,
  reading: SourceReading,
  readings: readonly SourceReading[],
  policy: MergePolicy,
): Outcome {
  const { now, before } = reading;
  const among = (choice: Choice) => {
    const choices = [...joined.choices, choice];
    return readings.flatMap(
      ({ input }) => choices.find((candidate) => candidate.input === input) ?? [],
    );
  };
  const first = join(among(take(reading, now)), policy);
  if (first.ok) return first;
  const problems = [...now.problems, ...first.problems];
  const older = before && join(among(take(reading, { ...before, problems }, true)), policy);
  if (older?.ok) return older;
  return join(among(take(reading, { ...nothing, problems }, true)), policy);
}

function join(choices: readonly Choice[], policy: MergePolicy): Outcome {
  const sources = choices.flatMap(({ input: { id }, source: { entries } }) =>
    entries === undefined ? [] : [{ id, accepted: entries }],
  );
  const joined = joinSources(sources, bytesOf(...choices.map(({ source }) => source.text)), policy);
  return joined.ok ? { ...joined, choices } : joined;
}

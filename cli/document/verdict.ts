/** The controller's verdict on files: the merged document, or why there is none. */
import { judgeSize } from "#pullsecret/merge/capacity.ts";
import { canonical, sourcesOf } from "#pullsecret/merge/canonical.ts";
import { documentLimits } from "#pullsecret/json/json.ts";
import { merge, type MergePolicy } from "#pullsecret/merge/merge.ts";
import type { MergeSource } from "#pullsecret/merge/offer.ts";
import { parse, type Entry } from "#pullsecret/document/parse.ts";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { helpOf } from "#contract/help.ts";
import { sourceIds } from "#contract/names.ts";
import { findProtected } from "#pullsecret/merge/protect.ts";
import { formatProblem, problem, type Problem } from "#pullsecret/problems/problems.ts";
import { Refused, type ExitCode, type Io } from "../terminal/io.ts";

export type DocumentVerdict =
  | Readonly<{ ok: true; document: string; entries: number; warnings: readonly Problem[] }>
  | Readonly<{ ok: false; problems: readonly Problem[] }>;

/** Path of each source's file; undefined where the source has none. */
type Files = Readonly<{ original: string | undefined; additional: string }>;

/** Reads, merges and measures the files. The problems of both are told at once. */
export async function judge(
  files: Files,
  policy: MergePolicy,
  io: Pick<Io, "read">,
): Promise<DocumentVerdict> {
  const sources: MergeSource[] = [];
  const problems: Problem[] = [];
  let bytes = 0;
  for (const role of ["original", "additional"] as const) {
    const path = files[role];
    if (path === undefined) continue;
    const content = await io.read(path, documentLimits.bytes);
    bytes += content.length;
    const parsed = parse(content, { name: role, role });
    if (parsed.ok) sources.unshift({ id: role, accepted: parsed });
    else problems.push(...parsed.problems);
  }
  return problems.length > 0 ? { ok: false, problems } : join(sources, bytes, policy);
}

function join(
  sources: readonly MergeSource[],
  bytes: number,
  policy: MergePolicy,
): DocumentVerdict {
  const merged = merge(sources, policy);
  if (!merged.ok) return merged;
  const document = canonical(merged);
  const excess = judgeSize(bytes, document, JSON.stringify(sourcesOf(merged)));
  if (excess !== undefined) return { ok: false, problems: [excess] };
  return { ok: true, document, entries: merged.entries.length, warnings: merged.warnings };
}

export type Good = Readonly<{
  entries: readonly Entry[];
  /** Warnings, a line each. */
  warnings: readonly string[];
}>;

/** What sources other than the original may not serve. */
export type Protection = Readonly<{
  protect: readonly string[];
  /** There is an original, which is not read here: a source with its very credential is taken. */
  hasOriginal: boolean;
}>;

/** What the object protects; nothing without one. */
export function protectionOf(object: GlobalPullSecret | undefined): Protection {
  const hasOriginal = object?.status?.sources?.some(({ name }) => name === sourceIds.original);
  return { protect: object?.spec?.protectedRegistries ?? [], hasOriginal: hasOriginal ?? false };
}

/**
 * What the controller would say of these bytes as an additional pull secret; Refused, with every
 * reason, where it would not take them. Whether an entry has the original's credential cannot be
 * judged, so one for a protected registry is only a warning where there is an original.
 */
export async function verdictOn(
  bytes: Uint8Array,
  { protect, hasOriginal }: Protection,
): Promise<Good> {
  const files = { original: undefined, additional: "" };
  const policy = { conflicts: "additional", protect: hasOriginal ? [] : protect } as const;
  const verdict = await judge(files, policy, { read: () => Promise.resolve(bytes) });
  if (!verdict.ok) throw new Refused(explained(verdict.problems).join("\n"));
  const parsed = parse(bytes, { name: "additional", role: "additional" });
  const entries = parsed.ok ? parsed.entries : [];
  const additional = entries.map(({ registry }) => ({ id: sourceIds.additional, registry }));
  const unjudged = (hasOriginal ? findProtected(additional, protect) : []).map(
    ({ source, path, what }) => problem("unjudged", source, path, what),
  );
  return { entries, warnings: explained([...verdict.warnings, ...unjudged]) };
}

/** A line for each problem, and a last one with the places that explain their codes. */
function explained(problems: readonly Problem[]): readonly string[] {
  if (problems.length === 0) return [];
  const codes = new Set(problems.map(({ code }) => code));
  return [...problems.map(formatProblem), `explained in ${[...codes].map(helpOf).join(", ")}`];
}

/**
 * Prints problems and warnings of the files, one line each, and what `print` makes of a good one.
 */
export function printVerdict(
  verdict: DocumentVerdict,
  print: (good: Extract<DocumentVerdict, { ok: true }>) => string,
  io: Io,
): ExitCode {
  for (const one of verdict.ok ? verdict.warnings : verdict.problems) io.err(formatProblem(one));
  if (!verdict.ok) return 1;
  io.out(print(verdict));
  return 0;
}

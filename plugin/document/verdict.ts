/**
 * Checks files by the controller's rules. Returns the merged document, or the reasons why the
 * controller would refuse it.
 */
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
import { Refused, type FileIo } from "../terminal/io.ts";

export type DocumentVerdict =
  | Readonly<{ ok: true; document: string; entries: number; warnings: readonly Problem[] }>
  | Readonly<{ ok: false; problems: readonly Problem[] }>;

/** The path of each source's file. Undefined if the source has no file. */
type Files = Readonly<{ original: string | undefined; additional: string }>;

/**
 * Reads and merges the files, and checks their size. Reports the problems of both files together.
 */
export async function mergeFiles(
  files: Files,
  policy: MergePolicy,
  io: Pick<FileIo, "read">,
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

export type Examined = Readonly<{
  /** Empty if there are problems. */
  entries: readonly Entry[];
  problems: readonly Problem[];
  warnings: readonly Problem[];
}>;

/**
 * Finds all problems that the controller would find in these bytes as an additional pull secret. If
 * there is an original, an entry for a protected registry is only a warning: we do not read the
 * original here, and it might contain the same entry.
 */
export function examine(
  bytes: Uint8Array,
  { protect, hasOriginal }: Protection,
  name: string = role,
): Examined {
  const parsed = parse(bytes, { name, role });
  if (!parsed.ok) return { entries: [], problems: parsed.problems, warnings: parsed.warnings };
  const policy = { conflicts: role, protect: hasOriginal ? [] : protect } as const;
  const verdict = join([{ id: name, accepted: parsed }], bytes.length, policy);
  if (!verdict.ok) return { entries: [], problems: verdict.problems, warnings: parsed.warnings };
  const { entries } = parsed;
  const judged = entries.map(({ registry }) => ({ id: name, registry }));
  const unjudged = (hasOriginal ? findProtected(judged, protect) : []).map(
    ({ source, path, what }) => problem("unjudged", source, path, what),
  );
  return { entries, problems: [], warnings: [...verdict.warnings, ...unjudged] };
}

const role = "additional";

type Good = Readonly<{
  entries: readonly Entry[];
  /** One line for each warning. */
  warnings: readonly string[];
}>;

/** The registries that only the original is allowed to serve. */
export type Protection = Readonly<{
  protect: readonly string[];
  /**
   * Whether there is an original. The controller accepts an entry for a protected registry if the
   * original has the same entry.
   */
  hasOriginal: boolean;
}>;

/** The registries that the object protects. Without an object, no registry is protected. */
export function protectionOf(object: GlobalPullSecret | undefined): Protection {
  const hasOriginal = object?.status?.sources?.some(({ name }) => name === sourceIds.original);
  return { protect: object?.spec?.protectedRegistries ?? [], hasOriginal: hasOriginal ?? false };
}

/**
 * The result of `examine`. Throws Refused with every reason if the controller would not accept the
 * bytes.
 */
export function verdictOn(bytes: Uint8Array, protection: Protection): Good {
  const { entries, problems, warnings } = examine(bytes, protection);
  if (problems.length > 0) throw new Refused(problems.map(codedLine).join("\n"));
  return { entries, warnings: warnings.map(codedLine) };
}

/** A line with the places in the documentation that explain the codes of these problems. */
export const explainedIn = (problems: readonly Problem[]): string =>
  `explained in ${[...new Set(problems.map(({ code }) => code))].map(helpOf).join(", ")}`;

/**
 * One line for people. It begins with the problem's code, which docs/reference/errors.md explains.
 */
export const codedLine = (issue: Problem): string => `${issue.code} ${formatProblem(issue)}`;

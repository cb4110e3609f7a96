import { canonical } from "../pullsecret/canonical.ts";
import { merge, type MergePolicy } from "../pullsecret/merge.ts";
import type { Accepted } from "../pullsecret/parse.ts";
import type { Problem } from "../pullsecret/problems.ts";
import { identity } from "../pullsecret/registry.ts";
import { Misuse, type ExitCode, type Io } from "./io.ts";
import { readSource, refuse, tell } from "./source.ts";

export type MergeOptions = MergePolicy & Readonly<{ original?: string; additional: string }>;

/**
 * `merge`: both files → the canonical document on standard output, warnings on standard error. A refused file leaves
 * standard output empty; the problems of both files are told at once.
 */
export async function runMerge({ original, additional, ...policy }: MergeOptions, io: Io): Promise<ExitCode> {
  if (original === "-" && additional === "-") throw new Misuse("standard input can be only one of the two files");
  for (const registry of policy.protect) {
    if (identity(registry) === undefined) throw new Misuse("--protect: not a registry; name it as image names have it");
  }
  const sources: { original?: Accepted; additional?: Accepted } = {};
  const problems: Problem[] = [];
  for (const [role, path] of [["original", original] as const, ["additional", additional] as const]) {
    if (path === undefined) continue;
    const parsed = await readSource(path, { name: role, role }, io);
    if (parsed.ok) sources[role] = parsed;
    else problems.push(...parsed.problems);
  }
  if (problems.length > 0) return refuse(problems, io);
  const merged = merge(sources, policy);
  if (!merged.ok) return refuse(merged.problems, io);
  tell(merged.warnings, io);
  io.out(`${canonical(merged)}\n`);
  return 0;
}

import type { MergePolicy } from "#pullsecret/merge.ts";
import type { ExitCode, Io } from "./io.ts";
import { judge, tell } from "./verdict.ts";

type MergeOptions = MergePolicy & Readonly<{ original: string | undefined; additional: string }>;

/**
 * `merge`: both files → the canonical document on standard output, warnings on standard error. A
 * refused file leaves standard output empty.
 */
export async function runMerge(
  { original, additional, ...policy }: MergeOptions,
  io: Io,
): Promise<ExitCode> {
  const verdict = await judge({ original, additional }, policy, io);
  return tell(verdict, ({ document }) => `${document}\n`, io);
}

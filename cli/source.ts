/** A pull secret from a file, and how its problems are told. */
import { documentLimits } from "../pullsecret/json.ts";
import { parse, type Parsed, type Source } from "../pullsecret/parse.ts";
import { formatProblem, type Problem } from "../pullsecret/problems.ts";
import type { ExitCode, Io } from "./io.ts";

export async function readSource(path: string, source: Source, io: Io): Promise<Parsed> {
  return parse(await io.read(path, documentLimits.bytes), source);
}

/** One line each. */
export function tell(problems: readonly Problem[], io: Io): void {
  for (const problem of problems) io.err(formatProblem(problem));
}

export function refuse(problems: readonly Problem[], io: Io): ExitCode {
  tell(problems, io);
  return 1;
}

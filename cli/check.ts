import type { ExitCode, Io } from "./io.ts";
import { judge, tell } from "./verdict.ts";

/** `check`: the verdict, and the lines, that merge gives on an additional. */
export async function runCheck({ F }: Readonly<{ F: string }>, io: Io): Promise<ExitCode> {
  const files = { original: undefined, additional: F };
  const verdict = await judge(files, { conflicts: "additional", protect: [] }, io);
  return tell(
    verdict,
    ({ entries }) => `accepted: ${entries} ${entries === 1 ? "registry" : "registries"}\n`,
    io,
  );
}

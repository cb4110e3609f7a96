import type { ExitCode, Io } from "./io.ts";
import { readSource, refuse, tell } from "./source.ts";

/** `check`: the verdict, and the lines, that merge gives on an additional. */
export async function runCheck(path: string, io: Io): Promise<ExitCode> {
  const parsed = await readSource(path, { name: "additional", role: "additional" }, io);
  if (!parsed.ok) return refuse(parsed.problems, io);
  tell(parsed.warnings, io);
  const count = parsed.entries.length;
  io.out(`accepted: ${count} ${count === 1 ? "registry" : "registries"}\n`);
  return 0;
}

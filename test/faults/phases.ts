/** For tests that interrupt an agent in a certain phase of its journal. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeDirectory } from "../harness/agent/agent.ts";

/**
 * The command to put before the agent's program, so that strace delays each fsync by 300 ms. A
 * commit has several, so a test can see each of its steps, even on a busy machine.
 */
export const slowFsync =
  "strace -D -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=300000".split(" ");

type Journal = Readonly<{ phase: string; content: Readonly<{ revision: number }> }>;

/**
 * The journal that describes the node's config.json: the staged journal, if the staged config.json
 * was renamed. `undefined` without a journal.
 */
export function journalOf({ folder }: NodeDirectory): Journal | undefined {
  const staged = join(folder, "commit.staged");
  const isCommitted = existsSync(staged) && !existsSync(join(folder, "config.json.staged"));
  const file = isCommitted ? staged : join(folder, "journal.json");
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

export const phaseOf = (node: NodeDirectory): string | undefined => journalOf(node)?.phase;

/** For tests that interrupt an agent in a certain phase of its journal. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { NodeDirectory } from "../harness/agent/agent.ts";

/**
 * The command to put before the agent's program, so that strace delays each fsync by 300 ms. Each
 * phase has at least one fsync, so a test can see every phase, even on a busy machine.
 */
export const slowFsync =
  "strace -D -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=300000".split(" ");

/** Version and phase of the node's journal; `undefined` without a journal. */
export function journalOf(
  node: NodeDirectory,
): Readonly<{ version: number; phase: string }> | undefined {
  const file = join(node.folder, "journal.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

export const phaseOf = (node: NodeDirectory): string | undefined => journalOf(node)?.phase;

/** For tests that interrupt an agent in a certain phase of its journal. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { previousPrefix } from "#agent/journal/journal.ts";
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

/**
 * Turns the node's journal into version 1. A journal of version 1 itself contains the bytes of the
 * previous file.
 */
export function ageJournal({ folder }: NodeDirectory): void {
  const file = join(folder, "journal.json");
  const { before, undo, ...rest } = JSON.parse(readFileSync(file, "utf8"));
  const aged = ({ digest, ...one }: { digest?: string }) => {
    if (digest === undefined) return one;
    return {
      ...one,
      bytes: readFileSync(join(folder, previousPrefix + digest), "base64"),
      uid: 0,
      gid: 0,
    };
  };
  const old = {
    ...rest,
    before: aged(before),
    ...(undo && { undo: { ...undo, file: aged(undo.file) } }),
  };
  writeFileSync(file, JSON.stringify({ ...old, version: 1, reads: 1 }));
  for (const name of readdirSync(folder))
    if (name.startsWith(previousPrefix)) rmSync(join(folder, name));
}

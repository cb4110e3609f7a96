/**
 * The actions of our workflows. A tag can be moved to other code, which then runs with the rights
 * of the workflow, so each action is named by its commit.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const used = /^\s*(?:- )?uses:\s*(.*)$/gm;
const pinned = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;

/** Actions that are not named by a commit with its version as a comment, as `file: what`. */
export function checkActions(root: string): string[] {
  return globSync(".github/**/*.{yml,yaml}", { cwd: root }).flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const actions = Array.from(text.matchAll(used), ([, action = ""]) => action.trim());
    return actions
      .filter((action) => !pinned.test(action))
      .map((action) => `${file}: pin ${action} by commit: OWNER/NAME@<40 hex digits> # vX.Y.Z`);
  });
}

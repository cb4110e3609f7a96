/**
 * Gives hints that a file might have changed. A hint contains no data, and starts a round of the
 * agent. Only directories are watched, because a watch on a file stops working after two quick
 * renames.
 */
import { describe } from "./errno.ts";

/**
 * Calls `hint` when a name in one of the directories appears, disappears or changes, until the
 * process ends. If a directory cannot be watched, it calls `deaf` with the reason, and the agent
 * then notices changes only at its next round. `relevant` filters by path, because the kubelet's
 * directory is large.
 */
export async function watchDirectories(
  directories: readonly string[],
  relevant: (path: string) => boolean,
  hint: () => void,
  deaf: (why: string) => void,
): Promise<void> {
  const { watch } = await import("chokidar");
  const watcher = watch([...directories], {
    // The files in the directories of registries are one level below.
    depth: 1,
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) => !directories.includes(path) && !relevant(path),
  });
  watcher.on("all", hint);
  // Covers changes that were made before the watch was ready.
  watcher.on("ready", hint);
  // For example EMFILE or ENOSPC, at the limits of inotify, which all programs of root on the node
  // share.
  watcher.on("error", (error) => deaf(describe(error)));
}

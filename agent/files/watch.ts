/**
 * Hints that something may have changed. Only directories are watched: a watch on a file goes deaf
 * after two quick renames. A hint carries no data; its receiver looks for itself, and also looks
 * periodically without one.
 */
import { describe } from "./errno.ts";

/**
 * Calls `hint` when a name in one of the directories comes, goes or changes. Never fails: a
 * directory that cannot be watched gives no hints, and the timer has to do; `deaf` is told why. It
 * watches to the end of the process. The kubelet's directory is large, so `relevant` filters by
 * path.
 */
export async function watchDirectories(
  directories: readonly string[],
  relevant: (path: string) => boolean,
  hint: () => void,
  deaf: (why: string) => void,
): Promise<void> {
  const { watch } = await import("chokidar");
  const watcher = watch([...directories], {
    depth: 0,
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path) => !directories.includes(path) && !relevant(path),
  });
  watcher.on("all", hint);
  // What happened before the watch stood.
  watcher.on("ready", hint);
  // EMFILE, ENOSPC: the node's limits of inotify, which all programs of root share.
  watcher.on("error", (error) => deaf(describe(error)));
}

/**
 * Hints that something may have changed. A hint carries no data: it causes a look, which a probe of
 * the kubelet causes as well if a file has changed. Only directories are watched, because a watch
 * on a file goes deaf after two quick renames.
 */
import { describe } from "./errno.ts";

/**
 * Calls `hint` when a name in one of the directories comes, goes or changes, until the process
 * ends. A directory that cannot be watched gives no hints, `deaf` is told why, and the looks at
 * each probe must suffice. `relevant` filters by path, because the kubelet's directory is large.
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
  // For what happened before the watch was set up.
  watcher.on("ready", hint);
  // Such as EMFILE, ENOSPC: limits of inotify, which all of root's programs on the node share.
  watcher.on("error", (error) => deaf(describe(error)));
}

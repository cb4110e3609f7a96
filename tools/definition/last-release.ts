/**
 * The release before this checkout. Upgrade tests start from it, and the CRDs are compared with its
 * CRDs. Change `version` and `commit` at each release. 0.2.0 was never tagged. `commit` is the last
 * commit that the changelog's section about 0.2.0 describes.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

export const lastRelease = {
  version: "0.2.0",
  commit: "ecd1f065b29e3d152f48371527753638cb4e0096",
} as const;

/**
 * Maximum number of bytes of git's output: 64 MiB. All files of a release together have about 3
 * MiB.
 */
const most = 64 << 20;

/** A file of the last release. */
export function lastFile(path: string): string {
  return git("show", `${lastRelease.commit}:${path}`).toString();
}

/** The paths of all files below a folder in the last release. */
export function lastFilesIn(folder: string): readonly string[] {
  const names = git("ls-tree", "-r", "--name-only", lastRelease.commit, folder).toString();
  return names.split("\n").filter(Boolean);
}

/** All files of the last release, as a tar. */
export function lastArchive(): Buffer {
  return git("archive", "--format=tar", lastRelease.commit);
}

const ask = (...argv: readonly string[]) =>
  spawnSync("git", argv, { cwd: join(import.meta.dirname, "../.."), maxBuffer: most });

/** Why the files of the last release cannot be read here; undefined if they can. */
export function missing(): string | undefined {
  const { version, commit } = lastRelease;
  const { status, error } = ask("cat-file", "-e", `${commit}^{commit}`);
  if (error !== undefined) return "git is not installed";
  if (status === 0) return undefined;
  return `release ${version} (${commit.slice(0, 7)}) is not in this clone: git fetch --unshallow`;
}

function git(...args: readonly string[]): Buffer {
  const reason = missing();
  if (reason !== undefined) throw new Error(reason);
  const { status, stdout, stderr } = ask(...args);
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.toString().trim()}`);
  return stdout;
}

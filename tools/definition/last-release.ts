/**
 * The release before this checkout's: upgrades start from it, and the CRDs are compared with its
 * CRDs. A release changes the two lines. 0.2.0 was never tagged: this is the last commit that its
 * section of the changelog describes.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

export const lastRelease = {
  version: "0.2.0",
  commit: "ecd1f065b29e3d152f48371527753638cb4e0096",
} as const;

/** 64 MiB: all files of a release have about 3 MiB. */
const most = 64 << 20;

/** A file of the last release. */
export function lastFile(path: string): string {
  return git("show", `${lastRelease.commit}:${path}`).toString();
}

/** The paths of a folder's files in the last release, those of its folders included. */
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

/**
 * Checks whether a checkout can be released. A person reads only the error's message, which is one
 * line.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "#test/cluster/run.ts";

/** The checkout cannot be released; the message states what to do. */
export class Unready extends Error {}

export type Version = Readonly<{
  version: string;
  /**
   * The commit. `created`: its time in seconds since 1970, which is the date of all released files.
   */
  revision: string;
  created: number;
  /** CHANGELOG.md's section about this version. */
  changes: string;
}>;

/**
 * Throws Unready if there are uncommitted changes, or if CHANGELOG.md has no section about the
 * version.
 */
export async function versionOf(repository: string): Promise<Version> {
  const git = (...args: readonly string[]) => run(["git", ...args], { cwd: repository });
  const [changed = ""] = (await git("status", "--porcelain")).split("\n");
  if (changed !== "")
    throw new Unready(`${changed.slice(3)}: is in no commit; commit or remove it, then release`);
  const manifest = readFileSync(join(repository, "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const changes = section(readFileSync(join(repository, "CHANGELOG.md"), "utf8"), version);
  if (changes === undefined)
    throw new Unready(`CHANGELOG.md: has no section "## [${version}] - DATE"; write it`);
  const [revision = "", created] = (await git("log", "-1", "--format=%H %ct")).trim().split(" ");
  return { version, revision, created: Number(created), changes };
}

/** The dated section of a version, with its title; undefined if there is none. */
export function section(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^(?=## )/m);
  const match = sections
    .find(
      (part) => part.startsWith(`## [${version}] - `) && /^## \S+ - \d{4}-\d\d-\d\d\n/.test(part),
    )
    ?.trim();
  return match === undefined ? undefined : `${match}\n`;
}

/** Builds the last release from its own sources, with its own locked packages, once per machine. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { lastArchive, lastRelease } from "#tools/definition/last-release.ts";
import { cacheRoot, once } from "../cache.ts";
import { progress, run } from "../run.ts";

const repository = join(import.meta.dirname, "../../..");
/**
 * Returns a folder with the release's manifests/, Containerfile and dist/ (5 s; a minute if its
 * packages are not those of this checkout).
 */
export async function buildLastRelease(): Promise<string> {
  const { version, commit } = lastRelease;
  return await once(join(cacheRoot, "releases", commit), async (draft) => {
    progress(`building release ${version}`);
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { recursive: true });
    await run(["tar", "-x", "-C", draft], { input: lastArchive() });
    const packages = join(draft, "node_modules");
    const same = packagesOf(draft) === packagesOf(repository);
    // If the release has the same packages as this checkout, nothing is fetched. If not, the
    // release's own build/run.mjs installs its packages.
    if (same) symlinkSync(join(repository, "node_modules"), packages);
    const door = same ? [] : ["build/run.mjs"];
    await run([process.execPath, ...door, "build/bundle.ts"], { cwd: draft });
    rmSync(packages, { recursive: true, force: true });
    if (!existsSync(join(draft, "dist/agent.cjs"))) throw new Error("there is no bundle in dist/");
  });
}

/**
 * The locked packages of a checkout, without the checkout's own entry, because its version always
 * differs.
 */
function packagesOf(root: string): string {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return JSON.stringify({ ...lock.packages, "": undefined });
}

/**
 * npm's list of the packages in the lock file, and which of them production needs. This file does
 * not use `npm sbom --omit=dev`, which would also omit packages of production that a development
 * dependency needs too, such as zod (npm 11).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "#test/cluster/run.ts";
import type { Boms, CycloneDx, Spdx } from "./boms.ts";

type Locked = Readonly<{
  version: string;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
}>;

function lockOf(repository: string): Readonly<Record<string, Locked>> {
  const text = readFileSync(join(repository, "package-lock.json"), "utf8");
  return (JSON.parse(text) as { packages: Record<string, Locked> }).packages;
}

/** All locked packages, in both formats; needs no network. */
export async function npmBoms(repository: string): Promise<Boms> {
  const ask = (format: string): Promise<string> =>
    run(["npm", "sbom", "--package-lock-only", `--sbom-format=${format}`], { cwd: repository });
  const [cyclonedx, spdx] = await Promise.all(["cyclonedx", "spdx"].map(ask));
  const { metadata, ...rest } = JSON.parse(cyclonedx ?? "") as CycloneDx;
  const manifest = readFileSync(join(repository, "package.json"), "utf8");
  const { name } = JSON.parse(manifest) as { name: string };
  // Replaces the component's name, for which npm uses the name of the folder.
  const component = { ...metadata.component, name };
  return {
    cyclonedx: { ...rest, metadata: { ...metadata, component } },
    spdx: JSON.parse(spdx ?? "") as Spdx,
  };
}

/**
 * The packages of a production installation on every platform, as `name@version`. All other
 * packages are tools, or the Node that runs npm scripts.
 */
export function production(repository: string): Set<string> {
  const needed = Object.entries(lockOf(repository)).filter(
    ([path, { dev, optional, devOptional }]) =>
      path !== "" && dev !== true && optional !== true && devOptional !== true,
  );
  return new Set(needed.map(([path, { version }]) => `${nameOf(path)}@${version}`));
}

/** Returns `name@version` of each package. `paths`: the paths of the packages in the lock file. */
export function locked(repository: string, paths: Iterable<string>): Set<string> {
  const lock = lockOf(repository);
  const withVersion = (path: string): string => {
    const version = lock[path]?.version;
    if (version === undefined) throw new Error(`${path}: is bundled, but not in package-lock.json`);
    return `${nameOf(path)}@${version}`;
  };
  return new Set([...paths].map(withVersion));
}

/** `node_modules/a/node_modules/@b/c` → `@b/c`. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

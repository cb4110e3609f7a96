/**
 * The programs of older versions of Kubernetes, for `KUBERNETES=1.33 npm run test:cluster` and
 * `npm run demo -- --kubernetes 1.33`. test/go.mod pins the newest version.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot, keyOf, once } from "../cache.ts";
import { progress, run } from "../run.ts";
import { buildFlags, goBuild, goIn, versionFlags } from "./go.ts";
import { buildParts, releaseIn, type Parts } from "./parts.ts";

/** One release of each supported minor version that is older than the one in test/go.mod. */
const olderReleases: readonly string[] = ["1.31.13", "1.32.9", "1.33.13", "1.34.4", "1.35.4"];

const goMod = readFileSync(join(import.meta.dirname, "../../go.mod"), "utf8");

/** 1.33.13 → 1.33 */
const minorOf = (release: string): string => release.replace(/\.\d+$/, "");

/** Each supported minor version, oldest first → the release that the tests run. */
export const releases: Readonly<Record<string, string>> = Object.fromEntries(
  [...olderReleases, releaseIn(goMod)].map((release) => [minorOf(release), release]),
);

/** The programs that a cluster can have in an older version. */
const programs = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"];

const modulePath = "k8s.io/kubernetes";
const packageOf = (program: string): string => `${modulePath}/cmd/${program}`;

/**
 * The go.mod of a module that can build the programs of a release, from Kubernetes' own go.mod.
 * Kubernetes' repository contains some of its modules as folders. Outside of it the same modules
 * have versions, such as v0.33.13.
 */
export function goModFor(release: string, kubernetes: string): string {
  return kubernetes
    .replace(/^module .*$/m, "module global-pull-secret/kubernetes")
    .replaceAll(/^(\s+k8s\.io\/\S+) v0\.0\.0$/gm, `$1 ${release.replace("1.", "v0.")}`)
    .replace(/^replace \([^)]*\)$/m, `require ${modulePath} v${release}`);
}

async function makeModule(folder: string, release: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const go = goIn(folder);
  const download = ["go", "mod", "download", "-json", `${modulePath}@v${release}`];
  const { Dir } = JSON.parse(await run(download, go)) as { Dir: string };
  const read = (name: string) => readFileSync(join(Dir, name), "utf8");
  writeFileSync(join(folder, "go.mod"), goModFor(release, read("go.mod")));
  // Go adds the checksums of Kubernetes' own modules from the public checksum database.
  writeFileSync(join(folder, "go.sum"), read("go.sum"));
  await run(["go", "list", "-mod=mod", "-deps", ...programs.map(packageOf)], go);
}

/** The folder of a release's programs. */
function folderOf(release: string): string {
  const flags = buildFlags(versionFlags(release));
  const key = keyOf(goModFor.toString(), ...flags, process.arch);
  return join(cacheRoot, "kubernetes", `${release}-${key}`);
}

/** The part of the programs of this minor version that must be compiled: from 0 to 1. */
export function olderWorkAhead(minor: string): number {
  const release = releases[minor] ?? "";
  if (release === releaseIn(goMod)) return 0;
  const missing = programs.filter((name) => !existsSync(join(folderOf(release), name)));
  return missing.length / programs.length;
}

/** Compiles a program of this release once. Returns the program's path. */
export async function programOf(release: string, name: string): Promise<string> {
  const folder = folderOf(release);
  return await once(join(folder, name), async (draft) => {
    progress(`compiling ${name} ${release}, once`);
    const module = await once(join(folder, "module"), (made) => makeModule(made, release));
    await goBuild(module, draft, packageOf(name), versionFlags(release));
  });
}

/** The parts of a cluster whose Kubernetes has this minor version, such as 1.33. */
export async function partsOf(minor: string): Promise<Parts> {
  const release = releases[minor];
  if (release === undefined)
    throw new Error(`Kubernetes ${minor}: choose one of ${Object.keys(releases).join(", ")}`);
  const pinned = await buildParts();
  if (release === pinned.kubernetes) return pinned;
  const paths = new Map<string, string>();
  // One after another, because each compilation uses the whole machine.
  for (const name of programs) paths.set(name, await programOf(release, name));
  const path = (name: string): string => paths.get(name) ?? pinned.path(name);
  return { ...pinned, path, kubernetes: release };
}

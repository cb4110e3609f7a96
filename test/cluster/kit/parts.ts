/**
 * The Go programs of a real cluster, in the versions that the tool directives of test/go.mod pin. A
 * program is copied if this machine has the pinned version. If not, it is compiled once.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cache.ts";
import { progress, run, runSync } from "../run.ts";
import { buildFlags, goIn, type Speed, versionFlags } from "./go.ts";

const moduleDirectory = join(import.meta.dirname, "../..");

/** The release of Kubernetes in a go.mod, such as 1.36.3. */
export const releaseIn = (goMod: string): string =>
  /k8s\.io\/kubernetes v(1\.\d+\.\d+)/.exec(goMod)?.[1] ?? "";

/** Import paths of the tool directives. */
function toolPackages(goMod: string): string[] {
  const block = /^tool \(\n([^)]*)\)/m.exec(goMod)?.[1] ?? "";
  return block
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** `go build` names a program after the last element of the import path that is not a version. */
const builtName = (importPath: string): string => basename(importPath.replace(/\/v\d+$/, ""));
const nameOf = (importPath: string): string =>
  importPath.startsWith("go.etcd.io/etcd/server/") ? "etcd" : builtName(importPath);

/**
 * Programs that take minutes to compile → the arguments that print the version, and the module that
 * pins it.
 */
const findable: Readonly<Record<string, readonly [args: readonly string[], module: string]>> = {
  etcd: [["--version"], "go.etcd.io/etcd/server/v3"],
  "kube-apiserver": [["--version"], "k8s.io/kubernetes"],
  "kube-controller-manager": [["--version"], "k8s.io/kubernetes"],
  "kube-scheduler": [["--version"], "k8s.io/kubernetes"],
  kubectl: [["version", "--client"], "k8s.io/kubernetes"],
  kubelet: [["--version"], "k8s.io/kubernetes"],
};

/**
 * Finds a program of the pinned version in the folder KUBEBUILDER_ASSETS (the variable of envtest)
 * or on the PATH.
 */
export function findProgram(name: string, goMod: string): string | undefined {
  const [args, module] = findable[name] ?? [];
  if (args === undefined) return undefined;
  const version = new RegExp(`\\s${module} v(\\S+)`).exec(goMod)?.[1] ?? "none";
  const pattern = new RegExp(`\\bv?${version.replaceAll(".", "\\.")}(?:\\s|$)`, "m");
  const folders = [
    process.env["KUBEBUILDER_ASSETS"] ?? "",
    ...(process.env["PATH"] ?? "").split(delimiter),
  ];
  return folders
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find((path) => pattern.test(runSync([path, ...args]) ?? ""));
}

export type Parts = Readonly<{
  /** The folder that contains every program in the version that test/go.mod pins. */
  directory: string;
  path: (program: string) => string;
  /** The release of Kubernetes, such as 1.36.3. */
  kubernetes: string;
}>;

/** The folder of the programs, and what it depends on. */
function placeOf(speed: Speed) {
  const goMod = readFileSync(join(moduleDirectory, "go.mod"), "utf8");
  const goSum = readFileSync(join(moduleDirectory, "go.sum"), "utf8");
  const flags = buildFlags(versionFlags(releaseIn(goMod)), speed);
  const key = keyOf(goMod, goSum, flags.join(" "), process.arch);
  return { directory: join(cacheRoot, key, "programs"), goMod, flags };
}

/** The part of the compiler's work that is still to do: from 0 to 1. */
export function workAhead(speed: Speed = "quick"): number {
  const { directory, goMod } = placeOf(speed);
  if (existsSync(directory)) return 0;
  const names = Object.keys(findable);
  return names.filter((name) => findProgram(name, goMod) === undefined).length / names.length;
}

/**
 * Copies all programs, or compiles them in one call of the compiler, with progress on stderr. After
 * an interruption the next run continues from Go's cache. Takes no time once everything exists.
 */
export async function buildParts(speed: Speed = "quick"): Promise<Parts> {
  const { directory: place, goMod, flags } = placeOf(speed);
  const directory = await once(place, (draft) => fill(draft, goMod, flags));
  const kubernetes = releaseIn(goMod);
  return { directory, path: (program) => join(directory, program), kubernetes };
}

async function fill(directory: string, goMod: string, flags: readonly string[]): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const missing = toolPackages(goMod).filter((importPath) => {
    const name = nameOf(importPath);
    const program = findProgram(name, goMod);
    if (program === undefined) return true;
    progress(`${name}: using ${program}`);
    copyFileSync(program, join(directory, name));
    return false;
  });
  const go = goIn(moduleDirectory);
  progress("downloading the Go modules of Kubernetes");
  await run(["go", "mod", "download"], go);
  const packages = (await run(["go", "list", "-deps", ...missing], go)).trim().split("\n").length;
  progress(`compiling Kubernetes, etcd, containerd and a registry: ${packages} packages, once`);
  let compiled = 0;
  let reported = 0;
  // With -v Go prints the path of each package that it has to compile.
  const stderr = (text: string): void => {
    compiled += text.split("\n").length - 1;
    const tenth = Math.floor((compiled * 10) / packages);
    if (tenth > reported) progress(`compiled ${tenth * 10} % of the packages`);
    reported = Math.max(reported, tenth);
  };
  await run(["go", "build", "-v", ...flags, "-o", `${directory}/`, ...missing], { ...go, stderr });
  for (const importPath of missing) {
    const [built, name] = [builtName(importPath), nameOf(importPath)];
    if (built !== name) renameSync(join(directory, built), join(directory, name));
  }
}

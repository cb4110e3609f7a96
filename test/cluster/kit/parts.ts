/**
 * The Go programs of a real cluster, as pinned by the tool lines of test/go.mod, built once into
 * the cache.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cache.ts";
import { progress, run } from "../run.ts";

const moduleDirectory = join(import.meta.dirname, "../..");

/**
 * What a stock Kubernetes release is linked with, so that `kubectl get nodes` tells the true
 * version.
 */
function linkerFlags(goMod: string): string {
  const version = /k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\d+)/.exec(goMod);
  const [, gitVersion, gitMajor, gitMinor] = version ?? [];
  const values = Object.entries({ gitVersion, gitMajor, gitMinor });
  return [
    "-s -w",
    ...values.map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
  ].join(" ");
}

/** Import paths of the tool lines. */
function toolPackages(goMod: string): string[] {
  const block = /^tool \(\n([^)]*)\)/m.exec(goMod)?.[1] ?? "";
  return block
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/**
 * A program is called like the last element of its import path, but for etcd, whose path ends in
 * server/v3.
 */
function programName(importPath: string): string {
  return importPath.startsWith("go.etcd.io/etcd/server/") ? "etcd" : basename(importPath);
}

/**
 * Programs that run on this machine and so may come from the folder that envtest users have at
 * hand.
 */
const replaceable = new Set([
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubectl",
]);

function fromEnvtest(program: string): string | undefined {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (assets === undefined || assets === "" || !replaceable.has(program)) return undefined;
  const path = join(assets, program);
  return existsSync(path) ? path : undefined;
}

export type Parts = Readonly<{
  /** Holds every program that is not taken from KUBEBUILDER_ASSETS. */
  directory: string;
  /** Path of a program by its name. */
  path: (program: string) => string;
}>;

/**
 * Builds what is missing, one program after the other (each uses all cores), with a line of
 * progress for each. A build that was interrupted goes on where it stopped. About 8 minutes cold on
 * two cores, 30 s with Go's own cache warm, nothing when all stands.
 */
export async function buildParts(): Promise<Parts> {
  const goMod = readFileSync(join(moduleDirectory, "go.mod"), "utf8");
  const goSum = readFileSync(join(moduleDirectory, "go.sum"), "utf8");
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags(goMod)];
  const directory = join(cacheRoot, keyOf(goMod, goSum, flags.join(" "), process.arch), "bin");
  const missing = toolPackages(goMod).filter((importPath) => {
    const program = programName(importPath);
    return fromEnvtest(program) === undefined && !existsSync(join(directory, program));
  });
  for (const [index, importPath] of missing.entries()) {
    const program = programName(importPath);
    await once(join(directory, program), async (draft) => {
      progress(`building ${program} (${index + 1} of ${missing.length})`);
      await run(["go", "build", ...flags, "-o", draft, importPath], {
        cwd: moduleDirectory,
        env: { ...(process.env as Record<string, string>), CGO_ENABLED: "0", GOFLAGS: "" },
      });
    });
  }
  return { directory, path: (program) => fromEnvtest(program) ?? join(directory, program) };
}

/**
 * Compiles Go programs for tests. All are compiled with the same flags, so that a package that
 * several programs share (client-go, most of Kubernetes) is compiled once.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cache.ts";
import { progress, run, type RunOptions } from "../run.ts";

/**
 * `quick`: compiles without optimisation, in a third less processor time (272 s instead of 424 s
 * for kube-apiserver). `optimised`: compiles like releases, for measurements.
 */
export type Speed = "quick" | "optimised";

/** The flags of every `go build`. */
export const buildFlags = (linkerFlags: string, speed: Speed = "quick"): readonly string[] => [
  "-mod=readonly",
  "-trimpath",
  "-buildvcs=false",
  "-ldflags",
  linkerFlags,
  ...(speed === "quick" ? ["-gcflags=all=-N -l -dwarf=false"] : []),
];

/**
 * The link flags of a stock release of Kubernetes, such as 1.36.3, so that `kubectl get nodes`
 * shows the right version.
 */
export function versionFlags(release: string): string {
  const [gitMajor, gitMinor] = release.split(".");
  const values = Object.entries({ gitVersion: `v${release}`, gitMajor, gitMinor });
  return [
    "-s -w",
    ...values.map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
  ].join(" ");
}

/** The options that run `go` for the module in this folder. */
export const goIn = (folder: string): RunOptions => ({
  cwd: folder,
  env: { ...(process.env as Record<string, string>), CGO_ENABLED: "0", GOFLAGS: "" },
});

/** Compiles the program of an import path, or of `.`, in the module of this folder. */
export async function goBuild(
  folder: string,
  output: string,
  importPath: string,
  linkerFlags = "-s -w",
): Promise<void> {
  mkdirSync(dirname(output), { recursive: true });
  await run(["go", "build", ...buildFlags(linkerFlags), "-o", output, importPath], goIn(folder));
}

const tests = join(import.meta.dirname, "../..");

/**
 * Compiles the program in this folder of test/, with the modules that test/go.mod pins, once for
 * each version of its source and of the modules (half a minute). Returns the program's path.
 */
export async function ownProgram(folder: string): Promise<string> {
  const sources = ["go.mod", "go.sum", `${folder}/main.go`].map((file) =>
    readFileSync(join(tests, file), "utf8"),
  );
  return await once(join(cacheRoot, "oracle", keyOf(...sources, "quick")), async (draft) => {
    progress(`compiling test/${folder} with Kubernetes' own code (half a minute)`);
    await goBuild(tests, draft, `./${folder}`);
  });
}

/**
 * Compiles Go programs for tests. All are compiled with the same flags, so that a package that
 * several programs share (client-go, most of Kubernetes) is compiled once.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { run, type RunOptions } from "../run.ts";

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

/**
 * The recorded objects of manifests/argocd: one for every state in which viewers can find a
 * GlobalPullSecret.
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { load } from "js-yaml";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";

const folder = join(import.meta.dirname, "../../manifests/argocd");

/** Name of the file, without its extension → the object. */
export function recorded(): ReadonlyMap<string, GlobalPullSecret> {
  const files = readdirSync(join(folder, "testdata")).toSorted();
  return new Map(
    files.map((file) => [basename(file, ".yaml"), read<GlobalPullSecret>(`testdata/${file}`)]),
  );
}

type Health = Readonly<{ status: string; message: string }>;
type HealthTests = Readonly<{
  tests: readonly Readonly<{ inputPath: string; healthStatus: Health }>[];
}>;

/** The health that Argo CD should report for each object, from health_test.yaml. */
export function expectedHealth(): ReadonlyMap<string, Health> {
  const { tests } = read<HealthTests>("health_test.yaml");
  return new Map(
    tests.map(({ inputPath, healthStatus }) => [basename(inputPath, ".yaml"), healthStatus]),
  );
}

function read<T>(file: string): T {
  return load(readFileSync(join(folder, file), "utf8")) as T;
}

/** Judges objects with the code of kstatus and Argo CD. See main.go. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { goBuild } from "../cluster/kit/go.ts";
import { progress, run } from "../cluster/run.ts";

const here = import.meta.dirname;
const script = join(here, "../../manifests/argocd/health.lua");

export type ViewerJudgement = Readonly<{
  /** Current, InProgress, Failed, Terminating … */
  kstatus: string;
  /** Argo CD's health: Healthy, Progressing, Degraded, Suspended … */
  health: string;
  message: string;
}>;

/** Builds main.go once for each content of main.go, go.mod and go.sum (half a minute). */
async function build(): Promise<string> {
  const sources = ["go.mod", "go.sum", "main.go"].map((name) =>
    readFileSync(join(here, name), "utf8"),
  );
  return await once(join(cacheRoot, "viewers", keyOf(...sources, "quick")), async (draft) => {
    progress("building kstatus and Argo CD's Lua (half a minute)");
    await goBuild(here, draft, ".");
  });
}

/** Returns the judgements in the order of the objects. */
export async function ask(objects: readonly object[]): Promise<readonly ViewerJudgement[]> {
  const input = objects.map((object) => JSON.stringify(object)).join("\n");
  const output = await run([await build(), script], { input });
  return output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ViewerJudgement);
}

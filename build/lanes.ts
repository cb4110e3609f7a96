/**
 * How many files of test/ run side by side. A cluster with nodes takes half a core to one on an
 * idle machine; two of them leave something of two cores. The other files mostly wait, for
 * probation and back-offs: a control plane alone takes a twelfth of a core to a half. With three
 * clusters of nodes at once, no moment of two cores was idle, each file took four times as long as
 * alone, and what has to come within seconds came too late.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Seconds } from "./run-files.ts";

export type Lane = Readonly<{ name: string; concurrency: number; files: readonly string[] }>;

/**
 * Whether the file starts a cluster by itself, or by something that it imports, which counts where
 * nodes are in it: most of those are API servers.
 */
export function bootsNodes(file: string): boolean {
  if (readFileSync(file, "utf8").includes("startCluster(")) return true;
  return [...reached(file)].some((one) =>
    /startCluster\((?!\{[^}]*\bnodes: 0\b)/.test(readFileSync(one, "utf8")),
  );
}

/** What the file imports of test/, and so on, but for the library that starts clusters. */
export function reached(file: string, found = new Set<string>()): ReadonlySet<string> {
  const imports = readFileSync(file, "utf8").matchAll(
    /^(?:import|await import|\} from)\b.*"((?:\.{1,2}|#test)\/.*)"\)?;$/gm,
  );
  for (const [, path = ""] of imports) {
    const one = path.startsWith("#") ? path.slice(1) : join(dirname(file), path);
    if (!one.startsWith("test/") || one.startsWith("test/cluster/")) continue;
    if (found.has(one) || !existsSync(one)) continue;
    found.add(one);
    reached(one, found);
  }
  return found;
}

/** A file that was never run, in seconds. */
const usual = 60;

/**
 * Every file in one lane; no empty lane. The lane of the clusters with nodes takes so many of the
 * other files that both end together, by the seconds that each file took the last time.
 */
export function lanes(files: readonly string[], took: Seconds = {}, boots = bootsNodes): Lane[] {
  const secondsOf = (some: readonly string[]): number =>
    some.reduce((sum, file) => sum + (took[file] ?? usual), 0);
  const nodes = files.filter((file) => boots(file));
  const others = files.filter((file) => !boots(file));
  while (nodes.length > 0 && secondsOf(nodes) + secondsOf(others.slice(-1)) < secondsOf(others))
    nodes.push(...others.splice(-1));
  const all: readonly Lane[] = [
    { name: "nodes", concurrency: 2, files: nodes },
    { name: "others", concurrency: 2, files: others },
  ];
  return all.filter((lane) => lane.files.length > 0);
}

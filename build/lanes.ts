/**
 * How many files of test/ run side by side. A cluster with nodes takes half a core on an idle
 * machine (26 CPU seconds in 52 s, of a file that adds four nodes), and a quarter on a busy one;
 * three of them leave something of two cores. The other files mostly wait, for probation and
 * back-offs: a control plane alone takes a twelfth of a core. Two of them beside: with three, no
 * moment of two cores was idle, and a wave of four nodes took over a minute.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

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
function reached(file: string, found = new Set<string>()): ReadonlySet<string> {
  const imports = readFileSync(file, "utf8").matchAll(
    /^(?:import|\} from) .*"((?:\.{1,2}|#test)\/.*)";$/gm,
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

/** Every file in one lane; no empty lane. */
export function lanes(files: readonly string[], boots = bootsNodes): Lane[] {
  const all: readonly Lane[] = [
    { name: "nodes", concurrency: 3, files: files.filter((file) => boots(file)) },
    { name: "others", concurrency: 2, files: files.filter((file) => !boots(file)) },
  ];
  return all.filter((lane) => lane.files.length > 0);
}

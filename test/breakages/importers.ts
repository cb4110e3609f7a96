/** Finds the test files that run a source file. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };

const specifiers = /(?:from|import)\s*\(?\s*"([^"]+\.ts)"/g;

/** The path, from the root of the checkout, of an import in `file`. */
function resolve(file: string, specifier: string): string {
  if (specifier.startsWith(".")) return join(dirname(file), specifier);
  for (const [pattern, target] of Object.entries(manifest.imports)) {
    const prefix = pattern.slice(0, -1);
    if (specifier.startsWith(prefix))
      return join(target.slice(0, -1), specifier.slice(prefix.length));
  }
  return specifier;
}

/** Path → paths of the files that import it. */
function readImporters(root: string): ReadonlyMap<string, readonly string[]> {
  const files = globSync("**/*.ts", { cwd: root, exclude: ["node_modules/**", "dist/**"] });
  const pairs = files.flatMap((file) => {
    const imports = readFileSync(join(root, file), "utf8").matchAll(specifiers);
    return Array.from(imports, ([, specifier = ""]) => [resolve(file, specifier), file] as const);
  });
  const grouped = Map.groupBy(pairs, ([imported]) => imported);
  return new Map([...grouped].map(([path, rows]) => [path, rows.map(([, file]) => file)]));
}

/**
 * The test files that import the file, directly or through other files. Each group is one import
 * farther away than the group before it.
 */
export function testsBy(root: string): (file: string) => readonly (readonly string[])[] {
  const importers = readImporters(root);
  return (file) => {
    const seen = new Set([file]);
    const groups: string[][] = [];
    for (let near = [file]; near.length > 0; ) {
      const next = near.flatMap((path) => importers.get(path) ?? []);
      near = [...new Set(next)].filter((path) => !seen.has(path));
      for (const path of near) seen.add(path);
      groups.push(near.filter((path) => path.endsWith(".test.ts")));
    }
    return groups;
  };
}

/** Finds the unit tests that can run a source file. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tierOf } from "#tools/build/tiers.ts";

const typeImport = /^(?:import|export) type [^;]*;/gm;
/** An import, or the path of a program that a test starts. */
const mention = /"([^"\s]+\.ts)"/g;

/** The paths, from the root of the checkout, that a mention in `file` can mean. */
function meanings(file: string, text: string): readonly string[] {
  if (text.startsWith("#")) return [text.slice(1), `lib/${text.slice(1)}`];
  return [text, join(dirname(file), text)];
}

const testOf = (path: string) => path.replace(/\.ts$/, ".test.ts");

/**
 * Returns a function that lists the unit tests which run a file: first its own test, such as
 * a.test.ts beside a.ts, then those that import it, then those beside the files that need it, then
 * others of its folder. Those below test/ and tools/ come last, because they take long.
 */
export function testsBy(root: string): (file: string) => readonly string[] {
  const files = globSync("**/*.ts", { cwd: root, exclude: ["node_modules/**", "dist/**"] });
  const mentions = files.toSorted().flatMap((file) => {
    const source = readFileSync(join(root, file), "utf8").replaceAll(typeImport, "");
    const paths = Array.from(source.matchAll(mention), ([, text = ""]) => meanings(file, text));
    return paths.flat().map((path) => ({ path, file }));
  });
  const importers = Map.groupBy(mentions, ({ path }) => path);
  return (changed) => {
    // The loop also visits what it adds.
    const reached = new Set([changed]);
    for (const path of reached) for (const { file } of importers.get(path) ?? []) reached.add(file);
    const direct = (importers.get(changed) ?? []).map(({ file }) => file);
    const beside = [...reached].map(testOf);
    const isUnit = (path: string) => path.endsWith(".test.ts") && tierOf(path) === "test";
    const isFar = (path: string) => Number(/^t(?:est|ools)\//.test(path));
    const near = [...reached].filter((path) => dirname(path) === dirname(changed));
    const all = [testOf(changed), ...direct, ...beside, ...near, ...reached];
    const those = new Set(all.filter((path) => reached.has(path) && isUnit(path)));
    return [...those].toSorted((a, b) => isFar(a) - isFar(b));
  };
}

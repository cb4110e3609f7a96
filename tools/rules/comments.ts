/** Comments have at most 100 columns, code files at most 450 lines. The formatter wraps code. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const widest = 100;
const comment = /^\s*(?:\/\/|\/\*\*|\*)|\s\/\/ /;
/** Skips addresses, which cannot be wrapped, and `//` in a string, which is not a comment. */
const unwrappable = /"[^"]*\/\/[^"]*"|`[^`]*\/\/[^`]*`/;

/** Lists every comment line with more than 100 columns, as `file:line: width`. */
export function checkComments(root: string): string[] {
  const files = globSync("**/*.{ts,mjs,cjs}", {
    cwd: root,
    exclude: ["node_modules/**", "dist/**"],
  });
  return files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, at) =>
        isTooWide(line) ? [`${file}:${at + 1}: ${line.length} columns`] : [],
      ),
  );
}

function isTooWide(line: string): boolean {
  return line.length > widest && comment.test(line) && !unwrappable.test(line);
}

const longest = 450;

/** Lists every file of code with more than 450 lines. A table of a test can be longer. */
export function checkLengths(root: string): string[] {
  const files = globSync("{agent,bench,controller,fleet,lib,plugin,tenants,tools}/**/*.ts", {
    cwd: root,
    exclude: ["**/*.{test,fixture}.ts"],
  });
  return files.flatMap((file) => {
    const lines = readFileSync(join(root, file), "utf8").split("\n").length - 1;
    return lines > longest ? [`${file}: ${lines} lines`] : [];
  });
}

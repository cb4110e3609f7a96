/** `npm run check`: all checks that do not run the code. Prints the mistakes, or one line. */
import { spawnSync } from "node:child_process";
import { checkActions } from "./rules/actions.ts";
import { checkComments, checkLengths } from "./rules/comments.ts";
import { checkImports } from "./rules/imports.ts";

const steps: readonly (readonly [name: string, ...argv: string[]])[] = [
  ["types", "tsc", "--noEmit"],
  ["lint", "oxlint", "--type-aware", "--deny-warnings", "--quiet"],
  ["format", "oxfmt", "--check", "."],
  ["unused", "knip", "--no-progress"],
  ["used only by tests", "knip", "--production", "--no-progress"],
];

let failed = false;
for (const [name, program, ...argv] of steps) {
  const run = spawnSync(`node_modules/.bin/${program}`, argv, { encoding: "utf8" });
  if (run.status === 0) continue;
  failed = true;
  process.stderr.write(`${name}: ${program} ${argv.join(" ")}\n${run.stdout}${run.stderr}\n`);
}
for (const violation of checkImports(".")) {
  failed = true;
  process.stderr.write(`imports: ${violation}\n`);
}
for (const line of checkComments(".")) {
  failed = true;
  process.stderr.write(`comments: ${line}\n`);
}
for (const action of checkActions(".")) {
  failed = true;
  process.stderr.write(`actions: ${action}\n`);
}
for (const line of checkLengths(".")) {
  failed = true;
  process.stderr.write(`length: ${line}\n`);
}
if (failed) process.exit(1);
process.stdout.write(
  "check: types, lint, format, unused code and import directions are in order\n",
);

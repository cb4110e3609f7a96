/**
 * docs/faults.md: every fault that a test shows, read from the tests themselves. A test's name is
 * the row: the fault and what is promised under it.
 */
import { globSync, readFileSync } from "node:fs";
import { mutants } from "#test/mutants/list.ts";
import { runsSection } from "../runs.ts";

/** What is shown without a process, by tables and laws, and what takes a whole cluster. */
const elsewhere = [
  "agent/execute.test.ts",
  "agent/clock.test.ts",
  "agent/decide/decide.test.ts",
  "agent/systemd/distributions.test.ts",
  "agent/delivery/config-json/document.test.ts",
  "agent/journal/read.test.ts",
  "agent/decide/hold.test.ts",
  "agent/restart/restart.test.ts",
  "agent/report/lock.test.ts",
  "agent/model.test.ts",
  "agent/delivery/mount.test.ts",
  "agent/report/news.test.ts",
  "agent/restart/phases.test.ts",
  "agent/delivery/config-json/plan.test.ts",
  "agent/decide/preflight.test.ts",
  "agent/restart/quarantine.test.ts",
  "agent/redaction.test.ts",
  "agent/files/atomic-write.test.ts",
  "agent/decide/stale-mount.test.ts",
  "agent/restart/reread.test.ts",
  "agent/facts/search.test.ts",
  "agent/observe/stopwatch.test.ts",
  "agent/report/status.test.ts",
  "agent/files/watch.test.ts",
  "agent/report/word.test.ts",
  "test/e2e/coowned.test.ts",
  "test/e2e/failure.test.ts",
];

const introduction = `# Every fault, and the test that shows it

What is promised throughout: the kubelet ends up running; \`config.json\` is either wholly the old or wholly the new document, with its
owner and mode; what others wrote is intact; a restart that is owed is made, one that is not owed is not; the reason is in the log, in
readiness and in the termination message. A row is the name of a test, which asserts its share of that; what no test shows is not here.
\`npm run test:faults\` runs all of test/faults, every point of every family; \`npm test\` takes samples of some, and some files in turn, with the seed printed:
\`SEED=\` repeats one. The agents of test/faults, and the first containers of their pods, are the shipped bundles with the DaemonSet's flags and environment,
root without a capability; the tables beside the agent's code, and what speaks to the bus alone, run the sources. \`npm run soak -- --minutes 15\` deals faults out at random and checks the promise after each.`;

/** The page's whole text. */
export function faults(): string {
  const all = globSync("test/faults/*.{test,fixture}.ts").toSorted();
  const files = [...all.filter((file) => !gathers(file)), ...elsewhere];
  const parts = [introduction, runsSection(), ...files.map(section), breakages()];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** What the tests are held against. */
function breakages(): string {
  const rows = mutants.map(
    ({ effect, breaks = "", file, tests }) =>
      `| ${effect} | ${breaks} | \`${file}\` | ${tests.map((one) => `\`${one}\``).join(", ")} |`,
  );
  return [
    `## Breakages

That a test passes says little unless it can fail. Each row is a change of one line that breaks a promise or a rule; \`npm run test:long\` makes
one at a time in a copy, and the tests beside it must turn red: every file of them that is beside the sources, and of those under test/ the first that does. \`npm test\` holds that the list still fits the code.
`,
    "| what the product does then | promise | changed in | found by |",
    "| --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

/** Whether a file only runs those of others, its fixtures, on one cluster. */
function gathers(file: string): boolean {
  return /^import "\.\/.*\.fixture\.ts";$/m.test(readFileSync(file, "utf8"));
}

function section(file: string): string {
  const text = readFileSync(file, "utf8");
  const rows = titles(text).map((title) => `| ${title} | \`${file}\` |`);
  if (rows.length === 0) throw new Error(`${file} has no test whose name is a plain string`);
  const head = summary(text);
  return [
    ...(head ? [head, ""] : []),
    "| fault, and what is promised | test |",
    "| --- | --- |",
    ...rows,
  ].join("\n");
}

/** The first paragraph of the file's docstring. */
function summary(text: string): string {
  const [, doc = ""] = /^\/\*\*(.*?)\*\//s.exec(text) ?? [];
  const lines = doc.split("\n").map((line) => line.replace(/^\s*\*? ?/, "").trimEnd());
  return lines.join("\n").trim().split("\n\n")[0]?.replaceAll("\n", " ") ?? "";
}

/** Names of the tests, in their order. */
function titles(text: string): string[] {
  return Array.from(text.matchAll(/^test\(\s*(["'`])(.+?)\1,/gm), ([, , title = ""]) =>
    title.replaceAll("|", "\\|"),
  );
}

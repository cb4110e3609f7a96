/** The summary that a run prints. Pure functions. */
import type { NamedTest } from "#tools/pages/promises-page.ts";
import { promises, shownBy, shownOf } from "#tools/pages/promises.ts";
import type { Line } from "./reporter.ts";
import type { Outcome } from "./run-files.ts";
import { commandOf, type Tier } from "./tiers.ts";

/** The summary names at most this many skipped tests. */
const named = 12;

const countOf = (lines: readonly Line[], kind: Line["kind"]): number =>
  lines.filter((line) => line.kind === kind).length;

const counts = (lines: readonly Line[]): string =>
  (["passed", "failed", "skipped"] as const)
    .map((kind) => `${countOf(lines, kind)} ${kind}`)
    .join(", ");

/** One line about a test process that has ended. */
export function progressOf(name: string, { passed, seconds, lines }: Outcome): string {
  return `${passed ? "ok" : "FAILED"} ${name}: ${counts(lines)}, ${seconds.toFixed(0)} s`;
}

/** The goal for the minutes of a whole run, because people stop running tests that take longer. */
const promisedMinutes: Readonly<Partial<Record<Tier, number>>> = { test: 3, cluster: 25 };

type Run = Readonly<{
  tier: Tier;
  seconds: number;
  /** True if all files of the tier ran. Then the summary counts the promises. */
  whole: boolean;
}>;

/**
 * The last lines of a run: the skipped tests with their reasons, the promises that the run showed,
 * the commands that show the other promises, a warning if the run took too long, and the counts.
 */
export function summaryOf(lines: readonly Line[], { tier, seconds, whole }: Run): string {
  const skipped = lines.filter((line) => line.kind === "skipped");
  const reasons = Map.groupBy(skipped, ({ note }) => note || "no reason given");
  const { [tier]: minutes = Infinity } = promisedMinutes;
  const others = (Object.keys(commandOf) as Tier[]).filter((one) => one !== tier);
  return [
    ...[...reasons].flatMap(([reason, some]) => skippedFor(reason, some)),
    ...(whole
      ? [
          `promises shown here: ${shownIn(lines)}`,
          ...(seconds > minutes * 60 ? [`slow: the goal is at most ${minutes} minutes`] : []),
          `the others: ${others.map((one) => `\`${commandOf[one]}\``).join(", ")}`,
        ]
      : []),
    `${commandOf[tier]}: ${seconds.toFixed(0)} s`,
    counts(lines),
    "",
  ].join("\n");
}

function skippedFor(reason: string, some: readonly Line[]): readonly string[] {
  const names = some.slice(0, named).map(({ name }) => `  ${name}`);
  if (some.length > named) names.push(`  and ${some.length - named} others`);
  return [`skipped, ${reason}:`, ...names];
}

/** How many promises of each letter the passed tests have shown: `H 18 of 26, K …`. */
export function shownIn(lines: readonly Line[]): string {
  const passed = lines.filter(({ kind }) => kind === "passed").map(({ name }) => name);
  return Object.entries(shownOf(passed))
    .map(([letter, { shown, of }]) => `${letter} ${shown} of ${of}`)
    .join(", ");
}

/** The only promise of the core that needs no cluster: it is about imports. */
export const withoutCluster = "H25";

/**
 * The promises that a whole run of the tier must show, but that no passed test has shown.
 * `test:cluster` must show the whole core. `npm test` must show the promises in the names of its
 * tests. The result lists each promise with its files. Only in `npm test`, a file that skips a test
 * need not show its promises, because the machine might lack something that the test needs.
 */
export function missingIn(
  lines: readonly Line[],
  tier: Tier,
  tests: readonly NamedTest[],
): readonly string[] {
  const passed = lines.filter(({ kind }) => kind === "passed");
  const shown = new Set(passed.flatMap(({ name }) => shownBy(name)));
  const numbers = Object.keys(promises).filter((number) => !shown.has(number));
  if (tier === "all") return [];
  if (tier === "cluster")
    return numbers.filter((number) => number.startsWith("H") && number !== withoutCluster);
  const skips = new Set(lines.filter(({ kind }) => kind === "skipped").map(({ file }) => file));
  return numbers.flatMap((number) => {
    const its = tests.filter((one) => one.tier === tier && shownBy(one.name).includes(number));
    const files = Array.from(new Set(its.map(({ file }) => file)));
    const isDue = its.length > 0 && !files.some((one) => skips.has(one));
    return isDue ? [`${number} (${files.join(", ")})`] : [];
  });
}

/**
 * A reporter of Node's test runner (`node --test --test-reporter=…`). Prints failures, the skipped
 * tests, the promises that the run shows, and the counts. The run fails if a file ends too early,
 * if a test is excused from failing, or if no passed test shows a promise of the tier.
 */
import { writeSync } from "node:fs";
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";
import { allTests, type NamedTest } from "#tools/pages/promises-page.ts";
import { promises, shownBy, shownOf } from "#tools/pages/promises.ts";
import { commandOf, type Tier } from "./tiers.ts";

/** The variable of the environment that holds a `Run`, as JSON. */
export const runVariable = "TEST_RUN";

export type Run = Readonly<{
  tier: Tier;
  files: readonly string[];
  /** True if all files of the tier run. Then its promises must be shown. */
  whole: boolean;
  /** The limits in milliseconds: of the run, and of the time without news from a file. */
  bound: number;
  silence: number;
}>;

type Test = Readonly<{ name: string; file: string; note?: string }>;

/** The results of a run so far. */
export type Results = Readonly<{
  passed: readonly Test[];
  skipped: readonly Test[];
  failures: readonly string[];
}>;

type Result = Extract<TestEvent, { type: "test:pass" | "test:fail" }>;

/** The most characters of a file's output that are printed if the file fails. */
const longestOutput = 20_000;

/** Milliseconds after which a file gets a line, so that a long run shows its progress. */
const slow = 60_000;

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const run = JSON.parse(process.env[runVariable] ?? "{}") as Run;
  const passed: Test[] = [];
  const skipped: Test[] = [];
  const failures: string[] = [];
  const unended = new Set(run.files);
  const output = new Map<string, string>();
  /** File that runs → the time of its last event, and its tests that have not passed so far. */
  const running = new Map<string, { seen: number; tests: Set<string> }>();
  const watch = setInterval(() => {
    const late = performance.now() > run.bound;
    const stuck = [...running].filter(([, { seen }]) => performance.now() - seen > run.silence);
    if (!late && stuck.length === 0) return;
    const names = (late ? [...running] : stuck).map(
      ([file, { tests }]) => `${[file, ...tests].join("\n  ")}\n`,
    );
    writeSync(1, `FAILED: ${late ? "the run takes too long" : "a test hangs"}: ${names.join("")}`);
    process.exit(1);
  }, 1000);
  for await (const event of events) {
    const file = relative("", fileOf(event));
    const entry = running.get(file);
    if (entry !== undefined) entry.seen = performance.now();
    // A diagnosis is the only description of an error that is thrown after its test has ended.
    const isDiagnosis =
      event.type === "test:diagnostic" && event.data.message.startsWith("Error: ");
    if (event.type === "test:stdout" || event.type === "test:stderr" || isDiagnosis)
      output.set(file, `${output.get(file) ?? ""}${event.data.message}`.slice(-longestOutput));
    if (event.type === "test:dequeue") {
      if (event.data.name === file)
        running.set(file, { seen: performance.now(), tests: new Set() });
      else entry?.tests.add(event.data.name);
    }
    if (event.type === "test:complete") {
      if (event.data.name === file) running.delete(file);
      else if (event.data.details.passed) entry?.tests.delete(event.data.name);
    }
    if (event.type === "test:summary") {
      unended.delete(file);
      const { success, duration_ms: duration, counts } = event.data;
      if (!success && output.has(file)) yield `${file} printed:\n${output.get(file)}\n`;
      if (success && file !== "" && duration > slow)
        yield `${file}: ${counts.passed} passed in ${(duration / 1000).toFixed(0)} s\n`;
    }
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    const { name, skip, details } = event.data;
    const error = errorOf(event);
    // Node reports a file as a test only if its process fails, or ends without a result.
    const isFile = name === file;
    if (isFile) unended.delete(file);
    if (isFile || error !== undefined) {
      const reason = error ?? "the file has no test, or a test ended the process";
      const title = isFile ? file : `${file}: ${name}`;
      failures.push(title);
      yield `FAILED ${title}\n${reason}\n${isFile ? (output.get(file) ?? "") : ""}\n`;
    } else if (skip !== undefined)
      skipped.push({
        name,
        file: relative("", event.data.file ?? ""),
        note: typeof skip === "string" ? skip : "no reason given",
      });
    else if (details.type !== "suite")
      passed.push({ name, file: relative("", event.data.file ?? "") });
  }
  clearInterval(watch);
  const results = { passed, skipped, failures };
  const missing = run.whole ? missingIn(results, run.tier, allTests()) : [];
  for (const text of [
    ...Array.from(unended, (file) => `${file} ended before it reported all its tests`),
    ...missing.map((number) => `no passed test shows ${number}`),
    ...(passed.length === 0 ? ["no test passed"] : []),
  ]) {
    failures.push(text);
    yield `FAILED: ${text}\n`;
  }
  const seconds = performance.now() / 1000;
  yield summaryOf(results, { ...run, seconds });
  if (failures.length > 0) process.exitCode = 1;
}

/** The path of the test file that an event is about; empty if the event is about the run. */
function fileOf({ data }: TestEvent): string {
  // @types/node 24.19 does not declare `entryFile`. `file` can be a file that `entryFile` imports.
  const { entryFile, file } = (data ?? {}) as { entryFile?: string; file?: string };
  return entryFile ?? file ?? "";
}

/** Why a test fails the run; undefined if it passed or was skipped. */
export function errorOf(event: Result): string | undefined {
  if (event.data.todo !== undefined) return "marked as todo: its failure would be excused";
  // @types/node 24.19 does not declare `expectFailure`.
  if ("expectFailure" in event.data && event.data.expectFailure !== undefined)
    return "marked with expectFailure: a test that must fail shows nothing";
  if (event.type === "test:pass") return undefined;
  const error: unknown = event.data.details.error.cause ?? event.data.details.error;
  return error instanceof Error ? (error.stack ?? error.message) : inspect(error);
}

/** The summary names at most this many tests for each reason to skip them. */
const named = 5;

/** The last lines of a run. CI reads the last line. */
export function summaryOf(
  { passed, skipped, failures }: Results,
  { tier, whole, seconds }: Pick<Run, "tier" | "whole"> & Readonly<{ seconds: number }>,
): string {
  const reasons = [...Map.groupBy(skipped, ({ note }) => note)].map(([note, tests]) => {
    const names = tests.slice(0, named).map(({ name }) => `  ${name}\n`);
    const others = tests.length - names.length;
    return `skipped, ${note}:\n${names.join("")}${others > 0 ? `  and ${others} others\n` : ""}`;
  });
  const shares = Object.entries(shownOf(passed.map(({ name }) => name)));
  const shown = shares.map(([letter, { shown, of }]) => `${letter} ${shown} of ${of}`).join(", ");
  return [
    ...reasons,
    ...(whole ? [`promises shown here: ${shown}\n`] : []),
    `${commandOf[tier]}: ${skipped.length} skipped, ${seconds.toFixed(0)} s\n`,
    `${passed.length} passed, ${failures.length} failed\n`,
  ].join("");
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
  { passed, skipped }: Results,
  tier: Tier,
  tests: readonly NamedTest[],
): readonly string[] {
  if (tier === "all") return [];
  const shown = new Set(passed.flatMap(({ name }) => shownBy(name)));
  const numbers = Object.keys(promises).filter((number) => !shown.has(number));
  if (tier === "cluster")
    return numbers.filter((number) => number.startsWith("H") && number !== withoutCluster);
  const skips = new Set(skipped.map(({ file }) => file));
  return numbers.flatMap((number) => {
    const showing = tests.filter(
      (test) => test.tier === tier && shownBy(test.name).includes(number),
    );
    const files = [...new Set(showing.map(({ file }) => file))];
    const isDue = showing.length > 0 && !files.some((file) => skips.has(file));
    return isDue ? [`${number} (${files.join(", ")})`] : [];
  });
}

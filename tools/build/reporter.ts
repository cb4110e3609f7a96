/**
 * A reporter of node:test for our runner: one JSON object per line. The runner (run-files.ts) loads
 * this reporter with `--test-reporter` and reads the lines from a separate descriptor, so that they
 * never mix with a test's output.
 */
import { writeSync } from "node:fs";
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { channel, lastMark, loader, markedBy } from "./marks.ts";

export type Line =
  | Readonly<{ kind: "passed"; name: string; file: string }>
  /** `note`: the reason for the skip. */
  | Readonly<{ kind: "skipped"; name: string; file: string; note: string }>
  | Readonly<{ kind: "failed"; name: string; file: string; error: string }>;

/**
 * `loaded`: every test of the file was registered and reported. `end`: the last line, which is
 * missing if a test ended the process.
 */
export type Report = Line | Readonly<{ kind: "loaded"; file: string }> | Readonly<{ kind: "end" }>;

type Result = Extract<TestEvent, { type: "test:pass" | "test:fail" }>;

// oxlint-disable-next-line require-yield -- Node wants a generator; this one prints nothing
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  /** Number of lines since the last mark. */
  let fresh = 0;
  let isOver = false;
  const send = (line: Report): void => {
    // We write synchronously, because Node can lose a stream's last output when the process ends.
    writeSync(channel, `${JSON.stringify(line)}\n`);
  };
  for await (const event of events) {
    // If a failure comes after its test has ended, such as a rejected promise, Node fails the run,
    // and only this diagnostic event shows why.
    if (event.type === "test:diagnostic" && event.data.message.startsWith("Error: ")) {
      const { message, file = "" } = event.data;
      send({ kind: "failed", name: "after its end", file: relative("", file), error: message });
    }
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    if (event.data.file === loader) {
      isOver ||= event.data.name === lastMark;
      if (!isOver) send(markLine(event, fresh));
      fresh = 0;
      continue;
    }
    const line = lineOf(event, isOver);
    if (line === undefined) continue;
    fresh += 1;
    send(line);
  }
  send({ kind: "end" });
}

function markLine(event: Result, fresh: number): Report {
  const { name } = event.data;
  const file = markedBy(name);
  if (event.type === "test:fail") return { kind: "failed", name, file, error: errorOf(event) };
  if (fresh > 0) return { kind: "loaded", file };
  return { kind: "failed", name, file, error: "it registers no test while it loads" };
}

function lineOf(event: Result, isLate: boolean): Line | undefined {
  const { name, details, skip, todo } = event.data;
  const file = relative("", event.data.file ?? "");
  const failed = (error: string): Line => ({ kind: "failed", name, file, error });
  if (event.type === "test:fail") return failed(errorOf(event));
  if (isLate) return failed("registered after all files had loaded: such a test may be lost");
  if (todo !== undefined) return failed("marked as todo: its failure would be excused");
  // @types/node 24.19 does not declare `expectFailure`.
  if ("expectFailure" in event.data && event.data.expectFailure !== undefined)
    return failed("marked with expectFailure: a test that must fail shows nothing");
  if (skip !== undefined)
    return { kind: "skipped", name, file, note: typeof skip === "string" ? skip : "" };
  return details.type === "suite" ? undefined : { kind: "passed", name, file };
}

function errorOf({ data }: Extract<TestEvent, { type: "test:fail" }>): string {
  const error: unknown = data.details.error.cause ?? data.details.error;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

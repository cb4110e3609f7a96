/**
 * A reporter of node:test for our runner: one JSON object a line, and nothing else. Loaded with
 * `--test-reporter`; the runner (run-files.ts) reads the lines.
 */
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

/** What became of one test. */
export type Line =
  | Readonly<{ kind: "passed"; name: string; file: string }>
  /** `note`: why. */
  | Readonly<{ kind: "skipped"; name: string; file: string; note: string }>
  | Readonly<{ kind: "failed"; name: string; file: string; error: string }>;

/** The last line. It is missing when a test ended the process. */
export const end = '{"kind":"end"}';

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    const line = lineOf(event);
    if (line !== undefined) yield `${JSON.stringify(line)}\n`;
  }
  yield `${end}\n`;
}

function lineOf(event: TestEvent): Line | undefined {
  if (event.type === "test:fail") {
    const { name, file = "", details, todo } = event.data;
    if (todo !== undefined) return undefined;
    const error = details.error.cause ?? details.error;
    return { kind: "failed", name, file: relative("", file), error: textOf(error) };
  }
  // What a test left behind, such as a rejected promise: Node fails the run with this line alone.
  if (event.type === "test:diagnostic" && event.data.message.startsWith("Error: ")) {
    const { message, file = "" } = event.data;
    return { kind: "failed", name: "after its end", file: relative("", file), error: message };
  }
  if (event.type === "test:pass") {
    const { name, details, skip } = event.data;
    const file = relative("", event.data.file ?? "");
    // A file without any test is told as one test of that name.
    if (details.type === "suite" || relative("", name) === file) return undefined;
    if (skip === undefined) return { kind: "passed", name, file };
    return { kind: "skipped", name, file, note: typeof skip === "string" ? skip : "" };
  }
  return undefined;
}

const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

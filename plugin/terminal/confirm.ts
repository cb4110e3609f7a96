/** Asks on a terminal: a yes-or-no question, or for a password. */
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { escape } from "#pullsecret/problems/keypath.ts";
import { toggle } from "#contract/values.ts";
import { Misuse, Refused, type ScreenIo } from "./io.ts";

/**
 * Asks a question on standard error, because standard output might go to a file. Only `y` and `yes`
 * mean yes. Ctrl-C, Ctrl-D and the end of the input mean no, and begin a new line.
 */
export async function confirm(
  question: string,
  input: NodeJS.ReadableStream = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<boolean> {
  const answer = await ask(createInterface({ input, output }), `${escape(question)} [y/N] `);
  if (answer === undefined) output.write("\n");
  return /^y(?:es)?$/i.test((answer ?? "").trim());
}

/**
 * Asks for a password on standard error, without showing it. Returns undefined after Ctrl-C, Ctrl-D
 * or the end of the input.
 */
export async function askPassword(
  question: string,
  input: NodeJS.ReadableStream = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<string | undefined> {
  const show = () => output.write(`${escape(question)}: `);
  show();
  const hidden = new Writable({ write: (_, __, done) => done() });
  // `terminal: true`: readline turns off the terminal's own echo, and writes the echo to `output`.
  const asker = createInterface({ input, output: hidden, terminal: true });
  asker.on("SIGCONT", show);
  const answer = await ask(asker, "");
  output.write("\n");
  return answer;
}

async function ask(asker: Interface, question: string): Promise<string | undefined> {
  // After Ctrl-Z and `fg`, readline stays paused until it prompts again.
  asker.on("SIGCONT", () => asker.prompt(true));
  // We do not use readline/promises, because there Ctrl-C rejects the answer, and after the end of
  // the input the answer never resolves.
  const answer = await new Promise<string | undefined>((resolve) => {
    asker.once("close", () => resolve(undefined));
    asker.question(question, resolve);
  });
  asker.close();
  return answer;
}

export const yesFlag = {
  yes: { ...toggle, short: "y", what: "do not ask; needed if standard input is not a terminal" },
} as const;

/**
 * Returns if `--yes` is given, or after a person has agreed. Throws Refused if the person does not
 * agree, and Misuse if standard input is not a terminal.
 */
export async function agree(
  yes: boolean,
  question: string,
  io: Pick<ScreenIo, "confirm">,
): Promise<void> {
  if (yes) return;
  if (io.confirm === undefined)
    throw new Misuse("--yes: is missing; it is needed if standard input is not a terminal");
  if (!(await io.confirm(question))) throw new Refused("nothing is done");
}

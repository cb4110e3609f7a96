/** Asks a yes-or-no question on a terminal. */
import { createInterface } from "node:readline";
import { escape } from "#pullsecret/problems/keypath.ts";

/**
 * Asks on standard error, because standard output may go elsewhere. Everything except `y` and `yes`
 * means no. Ctrl-C, Ctrl-D and the end of the input also mean no, and begin a new line.
 */
export async function confirm(question: string): Promise<boolean> {
  const asker = createInterface({ input: process.stdin, output: process.stderr });
  // In readline/promises, Ctrl-C rejects the answer, and the end of the input leaves it pending.
  const answer = await new Promise<string | undefined>((resolve) => {
    asker.once("close", () => resolve(undefined));
    asker.question(`${escape(question)} [y/N] `, resolve);
  });
  asker.close();
  if (answer === undefined) process.stderr.write("\n");
  return /^y(?:es)?$/i.test((answer ?? "").trim());
}

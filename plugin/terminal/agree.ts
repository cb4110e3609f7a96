/** Asks before a command removes credentials from every node. */
import { toggle } from "#contract/values.ts";
import { Misuse, Refused, type Io } from "./io.ts";

export const yesFlag = {
  yes: { ...toggle, short: "y", what: "do not ask; needed if standard input is not a terminal" },
} as const;

/**
 * Returns if `--yes` is given, or after a person has agreed. Throws Refused if the person does not
 * agree, and Misuse if standard input is not a terminal.
 */
export async function agree(yes: boolean, question: string, io: Io): Promise<void> {
  if (yes) return;
  if (io.confirm === undefined)
    throw new Misuse("--yes: is missing; it is needed if standard input is not a terminal");
  if (!(await io.confirm(question))) throw new Refused("nothing is done");
}

/** `merge`: two files as the one document that nodes get. */
import type { Rule } from "#contract/flags.ts";
import type { Table } from "#contract/table.ts";
import { oneOf } from "#contract/values.ts";
import { protectable } from "#pullsecret/merge/protect.ts";
import { path } from "#cli/document/path.ts";
import { judge, printVerdict } from "#cli/document/verdict.ts";
import { command } from "#cli/terminal/command.ts";

const flags = {
  original: { read: path, what: "the pull secret that nodes already have" },
  additional: { read: path, required: true, what: "the pull secret to add" },
  conflicts: {
    read: oneOf("additional", "original"),
    standard: "additional",
    what: "whose credential stays where both have one, additional or original",
  },
  protect: {
    read: protectable,
    repeated: true,
    what: "refuse additional entries that serve this registry",
  },
} as const satisfies Table;

const oneInput: Rule<typeof flags> = ({ original, additional }) =>
  original === "-" && additional === "-"
    ? "--additional -: standard input is --original already; give one of the two as a file"
    : undefined;

export const merge = command(
  {
    group: "local",
    what: "merge two pull secrets into the document that nodes get",
    example: "--original config.json --additional pull-secret.json",
    more:
      "Prints the canonical document on standard output, warnings on standard error. A refused file\n" +
      "leaves standard output empty.",
    flags,
    rules: [oneInput],
  },
  async ({ original, additional, ...policy }, io) => {
    const verdict = await judge({ original, additional }, policy, io);
    return printVerdict(verdict, ({ document }) => `${document}\n`, io);
  },
);

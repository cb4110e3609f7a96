/** The commands: what each is for, what it is told, and what runs it. */
import { asksForHelp } from "#contract/arguments.ts";
import { readFlags, type Rule } from "#contract/flags.ts";
import { usage, type Table, type Values } from "#contract/table.ts";
import { oneOf, Wrong } from "#contract/values.ts";
import { quote } from "#pullsecret/keypath.ts";
import { protectable } from "#pullsecret/protect.ts";
import { runCheck } from "./check.ts";
import { runExplain } from "./explain.ts";
import { Misuse, type ExitCode, type Io } from "./io.ts";
import { runMerge } from "./merge.ts";

type Command = Readonly<{
  what: string;
  run(name: string, argv: readonly string[], io: Io): Promise<ExitCode>;
}>;

const mergeFlags = {
  original: { read: file, what: "the pull secret that nodes already have" },
  additional: { read: file, required: true, what: "the pull secret to add" },
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

const oneInput: Rule<typeof mergeFlags> = ({ original, additional }) =>
  original === "-" && additional === "-"
    ? "--additional -: standard input is --original already; give one of the two as a file"
    : undefined;

const checkFlags = {
  F: { read: file, from: "operand", required: true, what: "the pull secret to judge" },
} as const satisfies Table;

const explainFlags = {
  IMAGE: {
    read: String,
    from: "operand",
    required: true,
    what: "an image as a pod has it, HOST/REPOSITORY:TAG",
  },
  file: {
    read: file,
    required: true,
    what: "a pull secret, or a node's /var/lib/kubelet/config.json",
  },
  output: {
    read: oneOf("text", "json"),
    standard: "text",
    short: "o",
    what: "how to print, text or json",
  },
} as const satisfies Table;

export const commands: Readonly<Record<string, Command>> = {
  merge: command(
    "merge two pull secrets into the document that nodes get",
    mergeFlags,
    runMerge,
    oneInput,
  ),
  check: command("judge an additional pull secret, without merging it", checkFlags, runCheck),
  explain: command(
    "show which credentials the kubelet would try for an image, in its order",
    explainFlags,
    runExplain,
  ),
};

/** A file's name, or `-` for standard input. */
function file(text: string): string | Wrong {
  return text === "" ? new Wrong("is empty; give a file, or - for standard input") : text;
}

/** Throws Misuse with all that is wrong, a line each. */
function command<const Rows extends Table>(
  what: string,
  table: Rows,
  run: (values: Values<Rows>, io: Io) => Promise<ExitCode>,
  ...rules: readonly Rule<Rows>[]
): Command {
  return {
    what,
    async run(name, argv, io) {
      if (asksForHelp(argv)) return help(name, what, table, io);
      const read = readFlags(table, { argv, quote }, ...rules);
      if (!read.ok) throw new Misuse(read.errors.join("\n"));
      return await run(read.value, io);
    },
  };
}

function help(name: string, what: string, table: Table, io: Io): ExitCode {
  const operands = Object.keys(table).filter((row) => table[row]?.from === "operand");
  const flags = Object.keys(table).length > operands.length ? ["[flags]"] : [];
  const call = ["kubectl pull-secret", name, ...operands, ...flags].join(" ");
  io.out(`Usage: ${call}\n\n${what}\n\n${usage(table)}`);
  return 0;
}

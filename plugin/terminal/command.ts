/** Describes a command: its purpose, its flags and operands, and the function that runs it. */
import { asksForHelp } from "#contract/arguments.ts";
import { readFlags, type Rule } from "#contract/flags.ts";
import { usage, type Table, type TableValues } from "#contract/table.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { Misuse, type ExitCode, type Io } from "./io.ts";

/** The groups of commands, in the order of the usage. */
export const groups = {
  see: "See what is in force",
  change: "Change credentials",
  steer: "Pause, withdraw, try again",
  clusters: "Many clusters",
  local: "Without a cluster",
} as const;

export type About<Rows extends Table> = Readonly<{
  group: keyof typeof groups;
  /** The command's line in the usage. */
  what: string;
  /** The arguments after `kubectl pull-secret NAME` in the example of its help. */
  example: string;
  flags: Rows;
  /** Further text for the command's help. */
  more?: string;
  rules?: readonly Rule<Rows>[];
}>;

export type Command = Omit<About<Table>, "rules"> &
  Readonly<{ run(name: string, argv: readonly string[], io: Io): Promise<ExitCode> }>;

/**
 * Creates a command from its flags and its function. If the arguments are wrong, the command throws
 * Misuse with a line for each error.
 */
export function command<const Rows extends Table>(
  { rules = [], ...about }: About<Rows>,
  run: (values: TableValues<Rows>, io: Io) => Promise<ExitCode>,
): Command {
  return {
    ...about,
    async run(name, argv, io) {
      if (asksForHelp(argv)) {
        io.out(help(name, about));
        return 0;
      }
      const read = readFlags(about.flags, { argv, quote }, ...rules);
      if (!read.ok) throw new Misuse(read.errors.join("\n"));
      return await run(read.value, io);
    },
  };
}

/** `kubectl pull-secret NAME OPERAND… [flags]`. Optional operands are in brackets. */
function callOf(name: string, flags: Table): string {
  const rows = Object.entries(flags);
  const operands = rows.filter(([, { from }]) => from === "operand");
  const shown = operands.map(([row, { required }]) => (required ? row : `[${row}]`));
  const rest = rows.length > operands.length ? ["[flags]"] : [];
  return ["kubectl pull-secret", name, ...shown, ...rest].join(" ");
}

/** The command with its example's arguments. */
export const exampleOf = (name: string, { example }: Pick<Command, "example">): string =>
  `kubectl pull-secret ${name} ${example}`.trimEnd();

export function help(name: string, about: Omit<Command, "run">): string {
  const { what, more, flags } = about;
  const parts = [`Usage: ${callOf(name, flags)}`, what, ...(more === undefined ? [] : [more])];
  return `${parts.join("\n\n")}\n\nExample:\n  ${exampleOf(name, about)}\n\n${usage(flags)}`;
}

type Commands = Readonly<Record<string, Command>>;

/**
 * Finds the command that a line names by one or two words. Returns the name, the command and its
 * arguments. As in kubectl, a line can also have flags before the command's name. We return them
 * with the arguments. The name is empty if the line has only flags.
 */
export function named(
  commands: Commands,
  argv: readonly string[],
): readonly [name: string, command: Command | undefined, rest: readonly string[]] {
  const at = flagsBefore(commands, argv);
  const words = Object.hasOwn(commands, argv.slice(at, at + 2).join(" ")) ? 2 : 1;
  const name = argv.slice(at, at + words).join(" ");
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  return [name, command, [...argv.slice(0, at), ...argv.slice(at + words)]];
}

/** The number of words before the command's name: flags and their values. */
function flagsBefore(commands: Commands, argv: readonly string[]): number {
  let at = 0;
  for (let word = argv[at]; word !== undefined && /^-(?!-?$)/.test(word); word = argv[at])
    at += takesNext(commands, word) ? 2 : 1;
  return at;
}

/** Whether the word is a flag, of any command, whose value is the next word. */
export function takesNext(commands: Commands, word: string): boolean {
  const rows = Object.values(commands).flatMap(({ flags }) => Object.entries(flags));
  return rows.some(
    ([name, row]) => !row.switch && (word === `--${name}` || word === `-${row.short}`),
  );
}

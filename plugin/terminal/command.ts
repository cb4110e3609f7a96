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
  fleet: "Many clusters",
  local: "Without a cluster",
} as const;

/**
 * The first words of commands with two words. The usage has one line for all of these commands, so
 * that a person with one cluster sees only what that cluster needs.
 */
const families: Readonly<Record<string, string>> = {
  fleet: "join clusters, share Secrets with them and with tenants; fleet --help lists how",
};

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
      return run(read.value, io);
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
const exampleOf = (name: string, { example }: Pick<Command, "example">): string =>
  `kubectl pull-secret ${name} ${example}`.trimEnd();

/** The help of a command. `listed`: the flags to list, if not all. */
export function help(name: string, about: Omit<Command, "run">, listed = about.flags): string {
  const { what, more, example, flags } = about;
  const parts = [
    `Usage: ${callOf(name, flags)}`,
    what,
    ...(more === undefined ? [] : [more]),
    ...(example === "" ? [] : [`Example:\n  ${exampleOf(name, about)}`]),
    usage(listed),
  ];
  return parts.join("\n\n");
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

/**
 * The commands by group, with a line for each command. With `first`, only the commands whose names
 * begin with this word. Undefined if there are no such commands.
 */
export function usageOf(
  commands: Readonly<Record<string, Command>>,
  first: string,
): string | undefined {
  const rows = Object.entries(commands).filter(
    ([name]) => first === "" || name.startsWith(`${first} `),
  );
  if (rows.length === 0) return undefined;
  const width = Math.max(
    ...rows.map(([name]) => (first === "" ? name.split(" ")[0] : name)?.length ?? 0),
  );
  const lists = Object.entries(groups).flatMap(([group, title]) => {
    const own = rows.filter(([, entry]) => entry.group === group);
    const lines = own.map(([name, { what }]) => {
      const [word = ""] = name.split(" ");
      const [label, right] =
        first === "" && word in families ? [word, families[word]] : [name, what];
      return `  ${label.padEnd(width)} ${right}\n`;
    });
    return own.length === 0 ? [] : [`${title}:\n${[...new Set(lines)].join("")}`];
  });
  if (first !== "") return `Usage: kubectl pull-secret ${first} COMMAND\n\n${lists.join("\n")}`;
  return `Usage: kubectl pull-secret COMMAND

Shows, changes, pauses and withdraws the pull secret that every node of a cluster has.

${lists.join("\n")}
COMMAND --help shows its flags and an example, such as
  ${exampleOf("wait", { example: "--timeout 5m" })}
help CODE explains a code of a message, such as
  ${exampleOf("help", { example: "GPS218" })}
A file may be - for standard input, and a pull secret may be in the manifest of its Secret. Only
merge --show-credentials prints credentials.
Exit codes: 0 done, perhaps with warnings; 1 refused, or failed; 2 the command line is wrong or a
file cannot be read; 3 not done in the given time.
`;
}

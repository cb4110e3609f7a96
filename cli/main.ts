/** `kubectl pull-secret`: the pull secret's front door, on files; no cluster needed. */
import { asksForHelp } from "#contract/arguments.ts";
import { nearest } from "#contract/nearest.ts";
import { quote } from "#pullsecret/keypath.ts";
import { commands } from "./commands.ts";
import { Misuse, readBounded, type Io } from "./io.ts";

const io: Io = {
  read: readBounded,
  out: (text) => void process.stdout.write(text),
  err: (line) => void process.stderr.write(`${line}\n`),
};

const usage = `Usage: kubectl pull-secret COMMAND

Merges, checks and explains pull secrets (kubernetes.io/dockerconfigjson).

${Object.entries(commands)
  .map(([name, { what }]) => `  ${name.padEnd(7)} ${what}`)
  .join("\n")}

COMMAND --help tells its flags. A file may be - for standard input. No command prints a password.
Exit codes: 0 done, perhaps with warnings; 1 a document is refused; 2 the command line is wrong or a file unreadable.
`;

/** The exit code. Throws Misuse. */
async function run(argv: readonly string[]): Promise<number> {
  const [name = "", ...rest] = argv;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined) return await command.run(name, rest, io);
  if (name === "help" && rest.length > 0) return await run([...rest, "--help"]);
  if (name !== "help" && !asksForHelp(argv))
    throw new Misuse(name === "" ? usage.trimEnd() : noCommand(name));
  io.out(usage);
  return 0;
}

function noCommand(name: string): string {
  const known = Object.keys(commands);
  return `${quote(name)}: is no command; give ${nearest(name, known) ?? known.join(", ")}`;
}

async function main(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    // The reader has seen enough: `merge … | head -c 1`.
    stream.on("error", (error: NodeJS.ErrnoException) =>
      process.exit(error.code === "EPIPE" ? 0 : 2),
    );
  }
  try {
    process.exitCode = await run(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    process.exitCode = 2;
    io.err(error.message);
  }
}

void main();

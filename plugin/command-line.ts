/** The command line as a function of its words: everything but the process around it. */
import { asksForHelp } from "#contract/arguments.ts";
import { nearest } from "#contract/flags.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { tellApiError } from "./cluster/failure.ts";
import { commands } from "./commands.ts";
import { complete } from "./completion/complete.ts";
import { named } from "./terminal/command.ts";
import { Misuse, Refused, type Io } from "./terminal/io.ts";
import { usageOf } from "./usage.ts";

/**
 * Runs the command that the words name, prints what is wrong, and returns the exit code. Throws
 * only on a bug of ours.
 */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await run(argv, io);
  } catch (error) {
    if (error instanceof ApiError) {
      io.err(tellApiError(error));
      return 1;
    }
    if (!(error instanceof Misuse) && !(error instanceof Refused)) throw error;
    for (const line of error.message.split("\n")) io.err(line);
    return error instanceof Misuse ? 2 : 1;
  }
}

/**
 * Runs the command that the line names, and returns the exit code. Throws Misuse, Refused and
 * ApiError.
 */
async function run(argv: readonly string[], io: Io): Promise<number> {
  const [name, command, rest] = named(commands, argv);
  if (name === "__complete") {
    io.out(complete(commands, rest, await contextsFor(rest, io)));
    return 0;
  }
  if (command !== undefined) return await command.run(name, rest, io);
  if (name === "help" && rest.length > 0) return await run([...rest, "--help"], io);
  if (name === "" && rest.includes("--version"))
    return await run(["version", ...rest.filter((word) => word !== "--version")], io);
  const usage = usageOf(commands, name === "help" ? "" : name);
  if (usage === undefined) throw new Misuse(noCommand(name));
  if (name !== "help" && !asksForHelp(rest)) {
    if (name !== "") throw new Misuse(noCommand(name));
    throw new Misuse(
      rest.length > 0 ? `only flags are given; name a command; ${lists}` : usage.trimEnd(),
    );
  }
  io.out(usage);
  return 0;
}

/** The contexts to complete with, where one is asked for; none of a kubeconfig that is broken. */
async function contextsFor(words: readonly string[], io: Io): Promise<readonly string[]> {
  if (!/^--(?:host-)?context$/.test(words.at(-2) ?? "")) return [];
  const at = words.indexOf("--kubeconfig");
  return await io.contexts(at < 0 ? undefined : words[at + 1]).catch(() => []);
}

/** Ends a line about a command that is not there. */
const lists = "--help lists all";

function noCommand(name: string): string {
  const known = Object.keys(commands);
  const longer = known.filter((one) => one.startsWith(`${name} `));
  if (longer.length > 0)
    return `${quote(name)}: is half a command; give ${longer.join(", ")}; ${lists}`;
  const meant = nearest(name, known);
  const given = meant === undefined ? "" : ` give ${meant};`;
  return `${quote(name)}: is not a command;${given} ${lists}`;
}

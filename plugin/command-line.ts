/** Runs a command line. Does not use `process`, so that tests can call it. */
import { asksForHelp } from "#contract/arguments.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { commands } from "./commands.ts";
import { complete, othersFor } from "./completion/complete.ts";
import { explanationOf } from "./show/code.ts";
import { codesPage } from "./terminal/codes-page.ts";
import { version } from "./terminal/version.ts";
import { named, usageOf } from "./terminal/command.ts";
import { Misuse, Refused, type Io } from "./terminal/io.ts";

/**
 * Runs the command that `argv` names, prints its errors, and returns the exit code. Throws only if
 * our code has a bug.
 */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await run(argv, io);
  } catch (error) {
    if (error instanceof ApiError) {
      io.err(explainApiError(error));
      return 1;
    }
    if (!(error instanceof Misuse) && !(error instanceof Refused)) throw error;
    for (const line of error.message.split("\n")) io.err(line);
    return error instanceof Misuse ? 2 : 1;
  }
}

/**
 * Runs the command that `argv` names, and returns the exit code. Can throw Misuse, Refused or
 * ApiError.
 */
async function run(argv: readonly string[], io: Io): Promise<number> {
  const [name, command, rest] = named(commands, argv);
  if (name === "__complete") {
    io.out(complete(commands, rest, await othersFor(commands, rest, io)));
    return 0;
  }
  if (command !== undefined) return command.run(name, rest, io);
  if (name === "help" && rest.length > 0 && rest.every((word) => /^gps\d+$/i.test(word))) {
    io.out(rest.map(explained).join("\n"));
    return 0;
  }
  if (name === "help") return run([...rest, "--help"], io);
  if (name === "" && rest.includes("--version"))
    return run(["version", ...rest.filter((word) => word !== "--version")], io);
  const [second] = rest;
  const its = inGroup(name);
  if (its.length > 0 && second !== undefined && !second.startsWith("-")) {
    const choices = its.map((word) => `${name} ${word}`).join(", ");
    throw new Misuse(`${quote(`${name} ${second}`)}: is not a command; give ${choices}; ${lists}`);
  }
  const usage = usageOf(commands, name);
  if (usage === undefined) throw new Misuse(noCommand(name));
  if (!asksForHelp(rest)) {
    if (name !== "") throw new Misuse(noCommand(name));
    throw new Misuse(
      rest.length > 0 ? `only flags are given; name a command; ${lists}` : usage.trimEnd(),
    );
  }
  io.out(usage);
  return 0;
}

function explained(code: string): string {
  const text = explanationOf(codesPage(), code);
  if (text === undefined)
    throw new Misuse(
      `${code}: is not a code of plugin ${version}; use the plugin of the controller's version`,
    );
  return text;
}

/** The end of the error about an unknown command. */
const lists = "--help lists all";

/** The second words of a group's commands, such as `join` of `fleet join`. */
const inGroup = (name: string): readonly string[] =>
  Object.keys(commands).flatMap((commandName) =>
    name !== "" && commandName.startsWith(`${name} `) ? [commandName.slice(name.length + 1)] : [],
  );

function noCommand(name: string): string {
  const longer = inGroup(name).map((word) => `${name} ${word}`);
  if (longer.length > 0)
    return `${quote(name)}: needs a second word; give ${longer.join(", ")}; ${lists}`;
  return `${quote(name)}: is not a command; ${lists}`;
}

const advice: Readonly<Record<number, string>> = {
  0: "check --kubeconfig and --context, and that the API server can be reached from here",
  401: "log in again, or check --kubeconfig and --context",
  403: "ask for that right",
  409: "another client keeps changing this object; try again later",
  429: "the API server is busy; try again",
};

/** One line with the request, the answer, and what to do. */
function explainApiError({ status, reason, message }: ApiError): string {
  if (reason === "NoCredential")
    return `${message}; install or repair that program, or log in again, as for kubectl`;
  return `${message}; ${advice[status] ?? "correct the request, or try again"}`;
}

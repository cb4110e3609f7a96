/** `kubectl pull-secret`: the pull secret's front door, for a cluster and for files. */
import { createInterface } from "node:readline/promises";
import { asksForHelp } from "#contract/arguments.ts";
import { nearest } from "#contract/nearest.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { escape, quote } from "#pullsecret/problems/keypath.ts";
import { tellApiError } from "./cluster/failure.ts";
import { commands } from "./commands.ts";
import { complete } from "./completion/complete.ts";
import { named } from "./terminal/command.ts";
import { interruptOf } from "./terminal/interrupt.ts";
import { Misuse, readBounded, Refused, type Io, type Terminal } from "./terminal/io.ts";
import { errTo } from "./terminal/writing.ts";
import { usageOf } from "./usage.ts";

/** The client's HTTP library asks for zstd as it is loaded, which Node 20 lacks; tried with 24. */
const leastNode = 24;

/** Loads what reaches a cluster. Commands on files alone do without. */
async function cluster(): Promise<typeof import("./cluster/reach.ts")> {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) < leastNode)
    throw new Misuse(`Node ${node}: is too old to reach a cluster; run it with Node ${leastNode}`);
  return await import("./cluster/reach.ts");
}

/** Loaded by whoever writes or reads YAML, which files alone do not need. */
const yaml = (): Promise<typeof import("#kube/yaml.ts")> => import("#kube/yaml.ts");

const interrupted = interruptOf(process);

const io: Io = {
  read: readBounded,
  out: (text) => void process.stdout.write(text),
  err: errTo((text) => void process.stderr.write(text)),
  confirm: process.stdin.isTTY ? confirm : undefined,
  terminal: terminalOf(process.stdout, process.env["NO_COLOR"]),
  reach: async (how) => (await cluster()).reach(how),
  place: async (how) => (await cluster()).place(how),
  contexts: async (kubeconfig) => (await cluster()).contextsOf(kubeconfig),
  yaml: async (value) => (await yaml()).dumpYaml(value),
  documents: async (text) => (await yaml()).loadDocuments(text),
  get signal() {
    return interrupted();
  },
};

/** Asks on standard error, because standard output may go elsewhere. */
async function confirm(question: string): Promise<boolean> {
  const asker = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await asker.question(`${escape(question)} [y/N] `)).trim());
  } finally {
    asker.close();
  }
}

/**
 * The terminal that standard output is shown on. Any value of NO_COLOR but an empty one turns
 * colour off (no-color.org).
 */
function terminalOf({ isTTY, columns }: typeof process.stdout, noColor = ""): Terminal | undefined {
  // Of a terminal that tells no width, such as a serial line, this is the usual one.
  return isTTY ? { columns: columns || 80, colour: noColor === "" } : undefined;
}

/**
 * Runs the command that the line names, and returns the exit code. Throws Misuse, Refused and
 * ApiError.
 */
async function run(argv: readonly string[]): Promise<number> {
  const [name, command, rest] = named(commands, argv);
  if (name === "__complete") {
    io.out(complete(commands, rest));
    return 0;
  }
  if (command !== undefined) return await command.run(name, rest, io);
  if (name === "help" && rest.length > 0) return await run([...rest, "--help"]);
  const usage = usageOf(commands);
  if (name !== "help" && !asksForHelp(argv))
    throw new Misuse(name === "" ? usage.trimEnd() : noCommand(name));
  io.out(usage);
  return 0;
}

function noCommand(name: string): string {
  const known = Object.keys(commands);
  const longer = known.filter((one) => one.startsWith(`${name} `));
  if (longer.length > 0) return `${quote(name)}: is half a command; give ${longer.join(", ")}`;
  return `${quote(name)}: is no command; give ${nearest(name, known) ?? known.join(", ")}`;
}

/**
 * The lines for an error that the caller can do something about; anything else is a fault of ours.
 */
function judge(error: unknown): readonly [exitCode: number, lines: readonly string[]] | undefined {
  if (error instanceof Misuse) return [2, error.message.split("\n")];
  if (error instanceof Refused) return [1, error.message.split("\n")];
  return error instanceof ApiError ? [1, [tellApiError(error)]] : undefined;
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
    const [code, lines] = judge(error) ?? [undefined, []];
    if (code === undefined) throw error;
    process.exitCode = code;
    for (const line of lines) io.err(line);
  }
}

void main();

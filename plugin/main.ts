/** `kubectl pull-secret`: the command line for pull secrets in a cluster and in files. */
import "./terminal/node.ts";
import { fstatSync } from "node:fs";
import { runCommandLine } from "./command-line.ts";
import { askPassword, confirm } from "./terminal/confirm.ts";
import {
  interruptOf,
  readBounded,
  writePrivate,
  type Io,
  unexpectedLine,
  errTo,
} from "./terminal/io.ts";
import { hasColour } from "./terminal/paint.ts";

/** Loads the code that connects to a cluster. Commands on files do not need this code. */
const cluster = (): Promise<typeof import("./cluster/reach.ts")> => import("./cluster/reach.ts");

/** Loads the code for YAML. Only commands that read or write YAML need it. */
const yaml = (): Promise<typeof import("#kube/yaml.ts")> => import("#kube/yaml.ts");

/** Whether standard input is a pipe or a file. False if it is closed. */
function isPiped(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isFile();
  } catch {
    return false;
  }
}

const interrupted = interruptOf(process);

const io: Io = {
  read: readBounded,
  write: writePrivate,
  out: (text) => void process.stdout.write(text),
  err: errTo((text) => void process.stderr.write(text)),
  get piped() {
    return isPiped();
  },
  confirm: process.stdin.isTTY ? confirm : undefined,
  askPassword: process.stdin.isTTY ? (question) => askPassword(question) : undefined,
  colour: hasColour(process.stdout, process.env),
  reach: async (how) => (await cluster()).reach(how),
  place: async (how) => (await cluster()).place(how),
  contexts: async (kubeconfig) => (await cluster()).contextsOf(kubeconfig),
  namespace: async (how) => (await cluster()).namespaceOf(how),
  yaml: async (value) => (await yaml()).dumpYaml(value),
  documents: async (text) => (await yaml()).loadDocuments(text),
  get signal() {
    return interrupted();
  },
};

for (const stream of [process.stdout, process.stderr]) {
  // EPIPE: the reader of our output stopped early, as in `merge … | head -c 1`.
  stream.on("error", ({ code }: NodeJS.ErrnoException) => {
    // Other errors occur, for example, if the disk is full.
    if (code !== "EPIPE" && stream === process.stdout)
      io.err(`standard output cannot be written (${code ?? "unknown error"})`);
    process.exit(code === "EPIPE" ? 0 : 2);
  });
}

async function main(): Promise<void> {
  // The exit code if Node.js ends the process in the middle of a command, because nothing is left
  // to wait for.
  process.exitCode = 1;
  try {
    process.exitCode = await runCommandLine(process.argv.slice(2), io);
  } catch (error) {
    io.err(unexpectedLine(error));
  }
}

void main();

/** `kubectl pull-secret`: the pull secret's front door, for a cluster and for files. */
import { createInterface } from "node:readline/promises";
import { escape } from "#pullsecret/problems/keypath.ts";
import { runCommandLine } from "./command-line.ts";
import { interruptOf } from "./terminal/interrupt.ts";
import { Misuse, readBounded, type Io } from "./terminal/io.ts";
import { terminalOf } from "./terminal/paint.ts";
import { errTo } from "./terminal/writing.ts";

/** The client's HTTP library asks for zstd as it is loaded, which Node 20 lacks; tried with 24. */
const leastNode = 24;

/** Loads what reaches a cluster. Commands on files alone do without. */
async function cluster(): Promise<typeof import("./cluster/reach.ts")> {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) < leastNode)
    throw new Misuse(
      `Node ${node} is too old to reach a cluster; install Node ${leastNode} or newer (nodejs.org)`,
    );
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
  terminal: terminalOf(process.stdout, process.env),
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

for (const stream of [process.stdout, process.stderr]) {
  // The reader has seen enough: `merge … | head -c 1`.
  stream.on("error", (error: NodeJS.ErrnoException) =>
    process.exit(error.code === "EPIPE" ? 0 : 2),
  );
}
void runCommandLine(process.argv.slice(2), io).then((code) => (process.exitCode = code));

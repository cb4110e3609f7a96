/** `kubectl pull-secret`: the pull secret's front door, on files; no cluster needed. */
import { Command, CommanderError, Option } from "commander";
import { runCheck } from "./check.ts";
import { runExplain } from "./explain.ts";
import { Misuse, readBounded, type ExitCode, type Io } from "./io.ts";
import { runMerge, type MergeOptions } from "./merge.ts";

const io: Io = {
  read: readBounded,
  out: (text) => void process.stdout.write(text),
  err: (line) => void process.stderr.write(`${line}\n`),
};

const exitCodes = `
F may be - for standard input. No command prints a password.
Exit codes: 0 done, perhaps with warnings; 1 a document is refused; 2 the command line is wrong or a file unreadable.`;

function build(done: (code: ExitCode) => void): Command {
  const program = new Command("kubectl pull-secret");
  program.description("Merges, checks and explains pull secrets (kubernetes.io/dockerconfigjson).");
  program.addHelpText("after", exitCodes).exitOverride();
  program
    .command("merge")
    .description("merge two pull secrets into the document that nodes get")
    .option("--original <F>", "the pull secret that nodes already have")
    .requiredOption("--additional <F>", "the pull secret to add")
    .addOption(conflictsOption())
    .option("--protect <REGISTRY>", "refuse additional entries that serve this registry; may be repeated", collect, [])
    .action(async (options: MergeOptions) => done(await runMerge(options, io)));
  program
    .command("check <F>")
    .description("judge an additional pull secret, without merging it")
    .action(async (file: string) => done(await runCheck(file, io)));
  program
    .command("explain <IMAGE>")
    .description("show which credentials the kubelet would try for an image, in its order")
    .requiredOption("--file <F>", "a pull secret, or a node's /var/lib/kubelet/config.json")
    .addOption(new Option("-o, --output <FORMAT>", "how to print").choices(["text", "json"]).default("text"))
    .action(async (image: string, options: { file: string; output: "text" | "json" }) =>
      done(await runExplain(image, options, io)),
    );
  return program;
}

function conflictsOption(): Option {
  const option = new Option("--conflicts <SOURCE>", "whose credential stays where both have one");
  return option.choices(["additional", "original"]).default("additional");
}

function collect(value: string, earlier: readonly string[]): string[] {
  return [...earlier, value];
}

async function main(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    // The reader has seen enough: `merge … | head -c 1`.
    stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 2));
  }
  try {
    await build((code) => {
      process.exitCode = code;
    }).parseAsync();
  } catch (error) {
    process.exitCode = 2;
    if (error instanceof Misuse) io.err(error.message);
    else if (!(error instanceof CommanderError)) throw error;
    // commander has printed its line; help that was asked for is no misuse.
    else process.exitCode = error.exitCode === 0 ? 0 : 2;
  }
}

void main();

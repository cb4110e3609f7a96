/** Runs the kubelet's own code on files and images. See oracle/main.go. */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ownProgram } from "../cluster/kit/go.ts";

/** `secrets`: a pod's pull Secrets, in the pod's order. They replace `file`. */
export type Question = Readonly<{
  file: Uint8Array;
  secrets?: readonly Uint8Array[];
  images: readonly string[];
}>;
/**
 * One credential as a text that tests can compare: key, user name and password as hexadecimal
 * bytes.
 */
export type Held = string;
type Lookup = Readonly<{
  name: string | undefined;
  tries: readonly Held[];
  /** True if several keyrings of the same file had different orders. */
  varies: boolean;
}>;
export type OracleAnswer = Readonly<{
  parses: boolean;
  entries: readonly Held[];
  lookups: readonly Lookup[];
}>;

type Raw = Readonly<{ key?: string; username: string; password: string }>;
type RawAnswer = Readonly<{
  parses: boolean;
  entries: readonly Raw[] | null;
  lookups:
    | readonly Readonly<{
        valid: boolean;
        name: string;
        tries: readonly Raw[] | null;
        varies: boolean;
      }>[]
    | null;
}>;

/** Builds an oracle program. Returns the program's path. */
export const build = (name: "oracle" | "provider" | "hosts" | "kubeadm" | "cel"): Promise<string> =>
  ownProgram(`differential/${name}`);

/** The kubelet's answers, in the order of the questions. */
export async function ask(questions: readonly Question[]): Promise<OracleAnswer[]> {
  const oracle = await build("oracle");
  const lines = questions.map(({ file, secrets, images }) =>
    JSON.stringify({
      file: encode(file),
      secrets: secrets?.map(encode),
      images: images.map((image) => encode(Buffer.from(image))),
    }),
  );
  const output = await run(oracle, [], lines.join("\n"));
  return output
    .trimEnd()
    .split("\n")
    .map((line) => decode(JSON.parse(line) as RawAnswer));
}

/** The form in which tests compare a credential. */
export function held(username: Uint8Array, password: Uint8Array, key?: string): Held {
  const name = key === undefined ? "" : Buffer.from(key).toString("hex");
  return `${name}/${Buffer.from(username).toString("hex")}/${Buffer.from(password).toString("hex")}`;
}

function decode(raw: RawAnswer): OracleAnswer {
  return {
    parses: raw.parses,
    entries: (raw.entries ?? []).map((entry) => heldBy({ key: "", ...entry })),
    lookups: (raw.lookups ?? []).map(({ valid, name, tries, varies }) => ({
      name: valid ? bytes(name).toString() : undefined,
      tries: (tries ?? []).map(heldBy),
      varies,
    })),
  };
}

function heldBy({ key, username, password }: Raw): Held {
  return held(
    bytes(username),
    bytes(password),
    key === undefined ? undefined : bytes(key).toString(),
  );
}

function encode(data: Uint8Array): string {
  return Buffer.from(data).toString("base64");
}

function bytes(text: string): Buffer {
  return Buffer.from(text, "base64");
}

/**
 * Runs a program to its end and returns its output. If the program fails, rejects with the
 * program's error output. Without input there is no pipe, because the program might end before the
 * pipe is written.
 */
export async function run(
  program: string,
  argv: readonly string[],
  input: string,
): Promise<string> {
  const child = spawn(program, argv, {
    cwd: join(import.meta.dirname, ".."),
    stdio: [input === "" ? "ignore" : "pipe", "pipe", "pipe"],
    env: { ...process.env, CGO_ENABLED: "0" },
  });
  const [output, complaint]: [Buffer[], Buffer[]] = [[], []];
  child.stdout?.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => complaint.push(chunk));
  child.stdin?.end(input);
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code !== 0)
    throw new Error(`${program} failed (${code}): ${Buffer.concat(complaint).toString()}`);
  return Buffer.concat(output).toString();
}

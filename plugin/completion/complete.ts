/**
 * Finds the words that can come next on a command line: from the table of commands, the contexts of
 * the kubeconfig, and the registries of a Secret.
 */
import type { Flag } from "#contract/table.ts";
import { choicesOf } from "#contract/values.ts";
import { knownRegistry, path } from "../document/operands.ts";
import { named, takesNext, type Command } from "../terminal/command.ts";
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { additionalSecretName } from "#contract/names.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import { peekObject, secretPath, sourceSecret } from "../cluster/object.ts";
import type { ClusterIo } from "../terminal/io.ts";

type Candidate = readonly [text: string, what: string];

/**
 * `files`: the next word can also be the name of a file. `registries`: it can also be a registry of
 * a Secret.
 */
type Next = Readonly<{ candidates: readonly Candidate[]; files: boolean; registries?: true }>;

type Commands = Readonly<Record<string, Command>>;

const nothing: Next = { candidates: [], files: false };

/**
 * Completes the last word of `words`, the words after `kubectl pull-secret`. This last word can be
 * empty. `others`: the contexts of the kubeconfig or the registries of a Secret, if these can come
 * next.
 */
export function complete(
  commands: Commands,
  words: readonly string[],
  others: readonly string[] = [],
): string {
  const word = words.at(-1) ?? "";
  const { candidates, files } =
    others.length > 0
      ? only(
          others.map((other) => [other, ""]),
          word,
        )
      : next(commands, words.slice(0, -1), word);
  // kubectl and cobra's scripts read completions in this format: one completion per line, then a
  // directive.
  return [
    ...candidates.map((candidate) => `${candidate.join("\t").trimEnd()}\n`),
    `:${files ? 0 : 4}\n`,
  ].join("");
}

/** Whether the next word can be a registry of the source's Secret. */
const wantsRegistry = (commands: Commands, words: readonly string[]): boolean =>
  next(commands, words.slice(0, -1), words.at(-1) ?? "").registries === true;

function next(commands: Commands, words: readonly string[], word: string): Next {
  const [name, command, before] = named(commands, words);
  if (name === "") {
    if (takesNext(commands, words.at(-1) ?? "")) return nothing;
    return only([...namesAfter(commands, ""), ["help", "show the help of a command"]], word);
  }
  if (name === "help")
    return before.length <= 1 ? only(namesAfter(commands, before.join(" ")), word) : nothing;
  const isLast = words.at(-1) === name && !word.startsWith("-");
  const longer = isLast ? namesAfter(commands, name) : [];
  if (command === undefined || longer.length > 0) return only(longer, word);
  const { flags } = command;
  const rows = Object.entries(flags);
  const asked = flagOf(rows, before.at(-1) ?? "");
  if (asked !== undefined && !asked[1].switch) return valueOf(asked[1], word);
  if (word.startsWith("-")) return only(flagsLeft(rows, before), word);
  const place = operandsIn(rows, before);
  const operand = rows.filter(([, { from }]) => from === "operand")[place];
  return operand === undefined ? nothing : valueOf(operand[1], word);
}

/**
 * The words of commands' names that can come after `before`. If several names begin with the same
 * word, we list it once.
 */
function namesAfter(commands: Commands, before: string): Candidate[] {
  const start = before === "" ? "" : `${before} `;
  const descriptions = new Map<string, string>();
  for (const [name, { what }] of Object.entries(commands)) {
    if (!name.startsWith(start)) continue;
    const [word = "", rest] = name.slice(start.length).split(" ");
    if (rest === undefined || !descriptions.has(word))
      descriptions.set(word, rest === undefined ? what : "");
  }
  return [...descriptions];
}

type Row = readonly [name: string, flag: Flag];

const isFlag = ([, { from }]: Row): boolean => from === undefined;

function flagOf(rows: readonly Row[], word: string): Row | undefined {
  return rows
    .filter(isFlag)
    .find(([name, { short }]) => word === `--${name}` || (short && word === `-${short}`));
}

/** We do not offer a flag again if users can give it only once. */
function flagsLeft(rows: readonly Row[], before: readonly string[]): Candidate[] {
  const usedFlags = new Set(before.map((word) => flagOf(rows, word.replace(/=.*$/s, ""))?.[0]));
  return rows
    .filter((row) => isFlag(row) && (row[1].repeated || !usedFlags.has(row[0])))
    .map(([name, { what }]) => [`--${name}`, what]);
}

function operandsIn(rows: readonly Row[], before: readonly string[]): number {
  const takesNext = (word = "") => {
    const row = flagOf(rows, word);
    return row !== undefined && !row[1].switch;
  };
  return before.filter((word, at) => !word.startsWith("-") && !takesNext(before[at - 1])).length;
}

function valueOf({ read }: Flag, word: string): Next {
  if (read === knownRegistry) return { candidates: [], files: false, registries: true };
  const choices = choicesOf(read).map((choice) => [choice, ""] as const);
  return { ...only(choices, word), files: read === path };
}

function only(candidates: readonly Candidate[], word: string): Next {
  return { candidates: candidates.filter(([text]) => text.startsWith(word)), files: false };
}

/**
 * Seconds to wait for the cluster's answer: only a few, because a person has pressed Tab and waits.
 */
const seconds = 3;

/** Words that can come next and that are not in the table of commands. Empty if a read fails. */
export async function othersFor(
  commands: Readonly<Record<string, Command>>,
  words: readonly string[],
  io: ClusterIo,
): Promise<readonly string[]> {
  try {
    if (words.at(-2) === "--context") return await io.contexts(givenValue(words, "kubeconfig"));
    return wantsRegistry(commands, words) ? await registriesFor(words, io) : [];
  } catch {
    return [];
  }
}

/**
 * The registries in the source's Secret, without keys that contain a credential. Empty if the
 * caller is not allowed to read the Secret.
 */
async function registriesFor(words: readonly string[], io: ClusterIo): Promise<readonly string[]> {
  const cluster = await io.reach({
    kubeconfig: givenValue(words, "kubeconfig"),
    context: givenValue(words, "context"),
    seconds,
  });
  const named = givenValue(words, "source");
  const secret =
    named === undefined
      ? additionalSecretName
      : sourceSecret(await peekObject(cluster), named).secret;
  const object = await cluster.get<V1Secret>(secretPath(secret));
  const text = Buffer.from(object?.data?.[".dockerconfigjson"] ?? "", "base64").toString("utf8");
  const { auths = {} } = JSON.parse(text) as { auths?: object };
  return Object.keys(auths).filter((key) => redactKey(key) === key && !/\s/.test(key));
}

/** The value of a flag, written as `--flag=value` or `--flag value`. */
function givenValue(words: readonly string[], flag: string): string | undefined {
  const at = words.indexOf(`--${flag}`);
  const joined = words.find((word) => word.startsWith(`--${flag}=`));
  return at < 0 ? joined?.slice(flag.length + 3) : words[at + 1];
}

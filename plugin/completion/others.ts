/**
 * Completions that are not in the table of commands: the kubeconfig's contexts, and the registries
 * of a Secret.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { additionalSecretName } from "#contract/names.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import { peekObject } from "../cluster/object.ts";
import { secretPath, sourceSecret } from "../cluster/secrets.ts";
import type { Command } from "../terminal/command.ts";
import type { Io } from "../terminal/io.ts";
import { wantsRegistry } from "./complete.ts";

/**
 * Seconds to wait for the cluster's answer: only a few, because a person has pressed Tab and waits.
 */
const seconds = 3;

/** Words that can come next and that are not in the table of commands. Empty if a read fails. */
export async function othersFor(
  commands: Readonly<Record<string, Command>>,
  words: readonly string[],
  io: Io,
): Promise<readonly string[]> {
  try {
    if (words.at(-2) === "--context") return await io.contexts(valueOf(words, "kubeconfig"));
    return wantsRegistry(commands, words) ? await registriesFor(words, io) : [];
  } catch {
    return [];
  }
}

/**
 * The registries in the source's Secret, without keys that contain a credential. Empty if the
 * caller is not allowed to read the Secret.
 */
async function registriesFor(words: readonly string[], io: Io): Promise<readonly string[]> {
  const cluster = await io.reach({
    kubeconfig: valueOf(words, "kubeconfig"),
    context: valueOf(words, "context"),
    seconds,
  });
  const named = valueOf(words, "source");
  const secret =
    named === undefined
      ? additionalSecretName
      : sourceSecret(await peekObject(cluster), named).secret;
  const found = await cluster.get<V1Secret>(secretPath(secret));
  const text = Buffer.from(found?.data?.[".dockerconfigjson"] ?? "", "base64").toString("utf8");
  const { auths = {} } = JSON.parse(text) as { auths?: object };
  return Object.keys(auths).filter((key) => redactKey(key) === key && !/\s/.test(key));
}

/** The value of a flag, written as `--flag=value` or `--flag value`. */
function valueOf(words: readonly string[], flag: string): string | undefined {
  const at = words.indexOf(`--${flag}`);
  const joined = words.find((word) => word.startsWith(`--${flag}=`));
  return at < 0 ? joined?.slice(flag.length + 3) : words[at + 1];
}

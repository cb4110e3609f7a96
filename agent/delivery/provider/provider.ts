/**
 * Delivery by a credential provider. The kubelet runs a script whenever it looks for a credential,
 * and the script prints our answer. So a new answer serves the next pull without a kubelet restart.
 * config.json contains the other entries.
 */
import { dirname, join } from "node:path";
import { nodeFiles, providerFiles, type ProviderScope } from "#contract/names.ts";
import { replace, identify, type FileIdentity } from "#agent/files/atomic-write.ts";
import type { Installed } from "./places.ts";
import { accessSync, constants, lstatSync } from "node:fs";
import { judgeConfig } from "#pullsecret/provider.ts";
import { describe } from "#agent/files/errno.ts";
import { readOwn } from "#agent/files/own-file.ts";

const { folder, script, config, answer } = providerFiles;
/**
 * Paths below the kubelet's directory. A change of one of them starts a round of the agent. The
 * script's stamp is not in this list. The first stamp also changes the folder, which starts a
 * round. Later stamps need no round.
 */
export const providerNames = [folder, script, config, answer];

/** Replaces the answer, durably. `expected`: the answer as it was found. */
export async function writeAnswer(
  directory: string,
  bytes: Buffer,
  expected: FileIdentity,
): Promise<void> {
  const target = join(directory, answer);
  const staging = join(directory, nodeFiles.folder);
  await replace({ target, folder: staging, bytes, mode: 0o600, expected });
}

/** A Secret has at most 1 MiB, and in an answer each of its bytes can take six bytes (`\u0001`). */
const mostAnswer = 8 * 1024 * 1024;
const mostConfig = 1024 * 1024;
const readableByOthers = 0o077;
const writableByOthers = 0o022;
const nothing = { answer: undefined, identity: "absent", rows: [], asked: false } as const;

/**
 * Reads the provider's files below the kubelet's directory: script and configuration, which an
 * administrator installed, and the answer, which is ours. Reports whether a kubelet can use the
 * answer. Without a scope, only the answer counts. Never throws. `booted`: when the node booted, in
 * milliseconds since 1970.
 */
export function readInstalled(
  kubeletDirectory: string,
  scope: ProviderScope | undefined,
  booted: number,
): Installed {
  const installed = readAnswer(kubeletDirectory);
  if (scope === undefined) return installed;
  const under = (name: string) => join(kubeletDirectory, name);
  // A stamp of an earlier boot shows nothing about the flags of the present kubelet.
  const asked = trying(() => lstatSync(under(providerFiles.stamp)).mtimeMs >= booted) === true;
  const config = trying(() => readConfig(under, scope));
  if (typeof config !== "string") return { ...installed, rows: config, asked };
  // If `installed` has its own reason, that reason replaces the configuration's.
  return { unfit: config, ...installed, asked };
}

/** Reads the answer alone. Never throws. */
function readAnswer(kubeletDirectory: string): Installed {
  const path = join(kubeletDirectory, answer);
  const reading = trying(() => readOwn(path, mostAnswer));
  if (typeof reading === "string") return { ...unread(path), unfit: reading };
  if (reading.kind === "absent") return missing(join(kubeletDirectory, folder));
  if (reading.kind !== "file")
    return {
      ...unread(path),
      unfit: `answer.json: ${reading.kind === "refused" ? reading.why : "another program is writing it"}`,
    };
  const { bytes, mode, identity } = reading;
  // If other users can read credentials in the answer, we must write the answer again.
  const isFit = (mode & readableByOthers) === 0;
  return { ...nothing, answer: isFit ? bytes : Buffer.alloc(0), identity };
}

/**
 * The kubelet uses the answer as long as it exists, even if we cannot read it. So a withdrawal
 * replaces it with an empty answer. There is no answer if the path is a directory, or if its folder
 * is a file.
 */
function unread(path: string): Installed {
  if (trying(() => lstatSync(dirname(path)).isFile()) === true) return nothing;
  const reading = trying(() =>
    lstatSync(path).isDirectory()
      ? nothing
      : { ...nothing, answer: Buffer.alloc(0), identity: identify(path) },
  );
  return typeof reading === "string" ? { ...nothing, unseen: reading } : reading;
}

/**
 * We found no answer. But if the answer's folder is a link that leads out of our mount, the kubelet
 * might find an answer there.
 */
function missing(path: string): Installed {
  const isPlain = trying(() => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? true);
  if (isPlain === true) return nothing;
  return { ...nothing, unseen: isPlain || `${folder} is not a directory` };
}

/**
 * The rows of the configuration, or the reason why a kubelet would not start with this
 * configuration or would not run our script.
 */
function readConfig(
  under: (name: string) => string,
  scope: ProviderScope,
): readonly string[] | string {
  const { folder, bin, script, configs, config } = providerFiles;
  for (const directory of [folder, bin, configs]) {
    const stats = lstatSync(under(directory), { throwIfNoEntry: false });
    if (stats === undefined) return `${directory} is missing`;
    if (!stats.isDirectory()) return `${directory} is not a directory`;
    // Anyone who can write there can make the kubelet run a program as root.
    if (stats.uid !== process.getuid?.() || (stats.mode & writableByOthers) !== 0)
      return `${directory} can be written by others than root`;
  }
  const [program, text] = [readOwn(under(script), mostConfig), readOwn(under(config), mostConfig)];
  for (const [name, ownFile] of [[script, program] as const, [config, text] as const]) {
    if (ownFile.kind === "absent") return `${name} is missing`;
    if (ownFile.kind === "refused") return `${name}: ${ownFile.why}`;
    if (ownFile.kind === "changing") return `${name} is being written`;
    if (ownFile.owner !== undefined || (ownFile.mode & writableByOthers) !== 0)
      return `${name} can be written by others than root`;
  }
  // Our mount has the options of the node's mount.
  if (trying(() => accessSync(under(script), constants.X_OK)) !== undefined)
    return `${script} is not executable, or on a file system that is mounted noexec`;
  const judged = judgeConfig(text.kind === "file" ? text.bytes : Buffer.alloc(0), scope);
  return judged.ok ? judged.rows : `${config}: ${judged.why}`;
}

/** The result, or why the call failed. */
function trying<T>(call: () => T): T | string {
  try {
    return call();
  } catch (error) {
    return describe(error);
  }
}

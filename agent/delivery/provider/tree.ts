/** The provider's tree and kubeadm's file, where both are the agent's to write. Reads only. */
import { lstatSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { kubeadmFlagsFile, providerFiles, type ProviderScope, scopes } from "#contract/names.ts";
import { script } from "#pullsecret/provider/answer.ts";
import { judgeConfig } from "#pullsecret/provider/config.ts";
import { type Flags, flagsIn } from "#pullsecret/provider/flags.ts";
import { type OwnFile, readOwn } from "#agent/files/own-file.ts";
import { isNoexec, readAnswer, there, trying, type InstalledProvider } from "./installation.ts";

export type ProviderTree = InstalledProvider &
  Readonly<{
    /** Whether it is there as it has to be. */
    script: boolean;
    /**
     * The rows of a configuration that a kubelet may run with; undefined where there is none, or
     * one that is not ours, such as with a provider of somebody else's in it.
     */
    config: readonly string[] | undefined;
    /** Its configuration is one of ours, of the other scope. */
    otherScope: boolean;
    /** Files of the tree that are there, or whose folder an agent that was killed left empty. */
    names: readonly string[];
    flags: Flags;
    env: OwnFile;
  }>;

const most = 1024 * 1024;

export function readTree(kubeletDirectory: string, scope: ProviderScope): ProviderTree {
  const under = (name: string) => join(kubeletDirectory, name);
  const { answer, identity, unfit } = readAnswer(under(providerFiles.answer));
  const files = Object.entries(providerFiles).filter(([key]) => isFile(key));
  const names = files
    .map(([, name]) => name)
    .filter((name) => there(under(name)) || isEmpty(dirname(under(name))));
  const env = own(under(kubeadmFlagsFile));
  const flags = flagsOf(env);
  const program = own(under(providerFiles.script));
  const text = own(under(providerFiles.config));
  const judged = text.kind === "file" ? judgeConfig(text.bytes, scope) : undefined;
  const config = judged?.ok ? judged.rows : undefined;
  const otherScope =
    text.kind === "file" &&
    judged?.ok === false &&
    scopes.some((one) => one !== scope && judgeConfig(text.bytes, one).ok);
  const spoilt =
    unfit ?? badDirectory(under) ?? (typeof flags === "object" ? flags.why : undefined);
  const isWhole = program.kind === "file" && program.bytes.equals(Buffer.from(script));
  return {
    rows: config ?? [],
    answer,
    identity,
    asked: there(under(providerFiles.stamp)),
    ...(spoilt !== undefined && { unfit: spoilt }),
    script: isWhole && (program.mode & 0o777) === 0o700,
    config,
    otherScope,
    names,
    flags,
    env,
  };
}

function isFile(key: string): boolean {
  return ["script", "config", "answer", "stamp"].includes(key);
}

function isEmpty(directory: string): boolean {
  return trying(() => readdirSync(directory).length === 0) === true;
}

function own(path: string): OwnFile {
  const found = trying(() => readOwn(path, most));
  return typeof found === "string" ? { kind: "refused", why: found } : found;
}

function flagsOf(env: OwnFile): Flags {
  if (env.kind === "absent") return { why: `${kubeadmFlagsFile} is missing` };
  if (env.kind === "changing") return { why: `${kubeadmFlagsFile} is being written` };
  if (env.kind === "refused") return { why: `${kubeadmFlagsFile}: ${env.why}` };
  if (env.owner !== undefined) return { why: `${kubeadmFlagsFile} belongs to ${env.owner}` };
  return flagsIn(env.bytes.toString("latin1"));
}

/** Why a program in the tree could not be run, or be another's; a missing folder will be made. */
function badDirectory(under: (name: string) => string): string | undefined {
  const { folder, bin, configs } = providerFiles;
  for (const directory of [folder, bin, configs]) {
    const found = lstatSync(under(directory), { throwIfNoEntry: false });
    if (found === undefined) continue;
    if (!found.isDirectory()) return `${directory} is no directory`;
    if (found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0)
      return `${directory} can be written by others than root`;
  }
  const noexec = trying(() => isNoexec(dirname(under(folder))));
  if (noexec === false) return undefined;
  return noexec === true ? "the kubelet's directory is mounted noexec" : noexec;
}

/** Whether kubeadm's file still has our flags, which only registration Agent takes out. */
export function hasFlags(kubeletDirectory: string): boolean {
  return flagsOf(own(join(kubeletDirectory, kubeadmFlagsFile))) === "with";
}

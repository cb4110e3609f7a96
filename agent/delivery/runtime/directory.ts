/** containerd's configuration and its directory of hosts.toml files, on the node. */
import { chmodSync, existsSync, lstatSync, readdirSync, renameSync, rmdirSync } from "node:fs";
import { join, relative } from "node:path";
import { hostsDirectory } from "#pullsecret/containerd/config.ts";
import { hasMark } from "#pullsecret/containerd/hosts.ts";
import { expect, moveFile, stage, sync, unlinkIfThere } from "#agent/files/atomic-write.ts";
import { describe, hasCode, ignoring, OwnError } from "#agent/files/errno.ts";
import { readMounts } from "#agent/files/mounts.ts";
import { readOwn, readRegular } from "#agent/files/own-file.ts";
import { discard, makeDirectory } from "#agent/journal/folder.ts";
import type { HostsChange, HostsFile, Runtime } from "./plan.ts";

export type RuntimePlace = Readonly<{
  /** The node's directory with containerd's configuration; undefined if it is not mounted. */
  containerdPath: string | undefined;
  /** Where this directory is mounted. */
  containerdDirectory: string;
  /** Where its folder certs.d is mounted. */
  hostsDirectory: string;
  /** The kernel's list of the container's mounts. */
  mountinfo: string;
}>;

const hostsName = "hosts.toml";
/** Files are staged here, on the mount of the files. No registry has this name. */
const stagingName = ".global-pull-secret";
const mostBytes = 1024 * 1024;
/** Spegel moves the directories of registries into this one, and writes its own instead. */
const backupName = "_backup";
const whyMoved = "Spegel moves the directories of registries there";

/**
 * Reads what containerd uses on this node; undefined if it is not mounted. `recorded`: where the
 * journal says that lines of ours might be, or empty. Never throws.
 */
export function readRuntime(place: RuntimePlace, recorded: string): Runtime | undefined {
  const { containerdPath: path } = place;
  const directories = new Map<string, HostsFile>();
  if (recorded !== "" && recorded !== path) {
    const why = `${recorded} is not mounted, where lines of ours might be`;
    return { path: recorded, directories, unfit: why, unseen: why };
  }
  if (path === undefined) return undefined;
  try {
    for (const name of readdirSync(place.hostsDirectory).toSorted()) {
      if (name.startsWith(".")) continue;
      const directory = join(place.hostsDirectory, name);
      const file = name === backupName ? readBackup(directory) : readDirectory(directory);
      if (file !== undefined) directories.set(name, file);
    }
  } catch (error) {
    return { path, directories, unfit: describe(error), unseen: describe(error) };
  }
  const unfit = directories.has(backupName) ? `${backupName}: ${whyMoved}` : whyUnfit(path, place);
  return unfit === undefined ? { path, directories } : { path, directories, unfit };
}

/** The file in the directory; undefined if the directory is gone. Never throws. */
function readDirectory(directory: string): HostsFile | undefined {
  const path = join(directory, hostsName);
  try {
    const stats = lstatSync(directory, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    if (!stats.isDirectory()) return refusal(path, "it is not a directory");
    const own = readOwn(path, mostBytes);
    // containerd reads these only without a hosts.toml, or with an empty one.
    const hasFiles = readdirSync(directory).some((name) => /\.(?:crt|cert)$/.test(name));
    const why = hasFiles ? { why: "it has certificates instead of hosts.toml" } : {};
    if (own.kind === "absent") return { kind: "absent", ...why };
    if (own.kind === "changing") return refusal(path, "another program is writing it");
    if (own.kind === "refused") return refusal(path, own.why);
    if (own.owner !== undefined) return refusal(path, `it belongs to ${own.owner}`);
    return { kind: "file", bytes: own.bytes, mode: own.mode, identity: own.identity, ...why };
  } catch (error) {
    return refusal(path, describe(error));
  }
}

function readBackup(directory: string): HostsFile {
  const names = ignoring("ENOTDIR", () => readdirSync(directory)) ?? [];
  const hasOurs = names.some((name) => mightHaveOurs(join(directory, name, hostsName)));
  return { kind: "refused", why: whyMoved, hasOurs };
}

function refusal(path: string, why: string): HostsFile {
  return { kind: "refused", why, hasOurs: mightHaveOurs(path) };
}

/** Whether the file has lines of ours, or cannot be read to its end. */
function mightHaveOurs(path: string): boolean {
  try {
    const reading = readRegular(path, mostBytes, "follow");
    return "bytes" in reading ? hasMark(reading.bytes) : "large" in reading;
  } catch (error) {
    // A link that leads out of our mount leads nowhere.
    return !hasCode(error, "ENOENT") && !hasCode(error, "ENOTDIR");
  }
}

/** The runtime mounts this file of the pod's sandbox into each container. */
const sandboxFile = "/etc/resolv.conf";

/** Why containerd does not use the mounted directory; undefined if it does. Never throws. */
function whyUnfit(containerdPath: string, place: RuntimePlace): string | undefined {
  try {
    return whyUnused(containerdPath, place);
  } catch (error) {
    return describe(error);
  }
}

function whyUnused(
  containerdPath: string,
  { containerdDirectory, mountinfo }: RuntimePlace,
): string | undefined {
  const sandbox = readMounts([sandboxFile], mountinfo).at(-1)?.source ?? "";
  if (!sandbox.includes("/io.containerd.grpc.v1.cri/sandboxes/"))
    return "the container runtime is not containerd";
  /** The path of a file in our mount. */
  const mounted = (path: string): string => {
    const inside = relative(containerdPath, path);
    if (inside.startsWith("..")) throw new OwnError(`${path} is not below ${containerdPath}`);
    return join(containerdDirectory, inside);
  };
  const directory = hostsDirectory(join(containerdPath, "config.toml"), {
    read: (path) => {
      const reading = readRegular(mounted(path), mostBytes, "follow");
      if ("bytes" in reading) return reading.bytes;
      throw new OwnError(`${path} is not a regular file of at most 1 MiB`);
    },
    list: (path) => ignoring("ENOENT", () => readdirSync(mounted(path))) ?? [],
  });
  if (typeof directory !== "string") return directory.why;
  const expected = join(containerdPath, "certs.d");
  return directory === expected ? undefined : `config_path is ${directory}, not ${expected}`;
}

/**
 * Replaces or removes the files, each durably. After an error it goes on with the other files, and
 * throws the first error at the end.
 */
export async function writeHosts(root: string, changes: readonly HostsChange[]): Promise<void> {
  const errors: unknown[] = [];
  for (const change of changes)
    try {
      await writeOne(root, change);
    } catch (error) {
      errors.push(error);
    }
  clearStaging(root);
  if (errors.length > 0) throw errors[0];
}

/** Removes what a killed agent has staged, because it contains credentials. */
export function clearStaging(root: string): void {
  const staging = join(root, stagingName);
  // A link could lead to the directory of a registry.
  const isOurs = lstatSync(staging, { throwIfNoEntry: false })?.isDirectory() === true;
  const names = isOurs ? readdirSync(staging) : [];
  for (const name of names) if (name.startsWith(hostsName)) discard(join(staging, name));
  discard(staging);
}

/**
 * A directory of ours appears and disappears whole, by a rename, because an empty one that a killed
 * agent leaves would hide the default from the registry.
 */
async function writeOne(
  root: string,
  { directory, file, expected, isOurDirectory }: HostsChange,
): Promise<void> {
  const path = join(root, directory);
  const target = join(path, hostsName);
  const staging = join(root, stagingName);
  if ("bytes" in file) {
    makeDirectory(staging);
    await stage(join(staging, hostsName), file.bytes, file.mode);
    expect(target, expected);
    if (existsSync(path)) moveFile(join(staging, hostsName), target);
    else {
      chmodSync(staging, 0o755);
      moveFile(staging, path);
    }
  } else {
    expect(target, expected);
    const place = isOurDirectory && isRenamed(path, staging) ? staging : path;
    unlinkIfThere(join(place, hostsName));
    if (isOurDirectory) ignoring("ENOTEMPTY", () => rmdirSync(place));
    // Another program has added a file.
    if (place === staging && existsSync(staging)) moveFile(staging, path);
  }
  if (existsSync(path)) await sync(path);
  await sync(root);
}

/** A removal goes on without the rename, which a full disk or a mount can refuse. */
function isRenamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

/** containerd's configuration and its directory of hosts.toml files, on the node. */
import { lstatSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join, relative } from "node:path";
import { hostsDirectory } from "#pullsecret/containerd/config.ts";
import { parted } from "#pullsecret/containerd/hosts.ts";
import { expect, replace, sync, unlinkIfThere } from "#agent/files/atomic-write.ts";
import { describe, ignoring, OwnError } from "#agent/files/errno.ts";
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
/** Far more than a node has. */
const mostDirectories = 1000;

/** Reads what containerd uses on this node; undefined if it is not mounted. Never throws. */
export function readRuntime(place: RuntimePlace): Runtime | undefined {
  if (place.containerdPath === undefined) return undefined;
  const directories = new Map<string, HostsFile>();
  try {
    const names = readdirSync(place.hostsDirectory).filter((name) => !name.startsWith("."));
    if (names.length > mostDirectories)
      throw new OwnError(`more than ${mostDirectories} directories`);
    for (const name of names.toSorted()) {
      const path = join(place.hostsDirectory, name);
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (stats?.isDirectory()) directories.set(name, readHosts(path));
      else if (stats !== undefined)
        directories.set(name, { kind: "refused", why: "it is not a directory", hasOurs: false });
    }
    const why = whyUnfit(place.containerdPath, place);
    return why === undefined ? { directories } : { directories, unfit: why };
  } catch (error) {
    return { directories, unfit: describe(error) };
  }
}

function readHosts(directory: string): HostsFile {
  const path = join(directory, hostsName);
  try {
    const own = readOwn(path, mostBytes);
    if (own.kind === "absent") {
      // containerd reads these only without a hosts.toml.
      const hasFiles = readdirSync(directory).some((name) => /\.(?:crt|cert)$/.test(name));
      return hasFiles
        ? { kind: "absent", why: "it has certificates instead of hosts.toml" }
        : { kind: "absent" };
    }
    if (own.kind === "changing") return refusal(path, "another program is writing it");
    if (own.kind === "refused") return refusal(path, own.why);
    if (own.owner !== undefined) return refusal(path, `it belongs to ${own.owner}`);
    return { kind: "file", bytes: own.bytes, mode: own.mode, identity: own.identity };
  } catch (error) {
    return refusal(path, describe(error));
  }
}

function refusal(path: string, why: string): HostsFile {
  const reading = ignoring("ENOENT", () => readRegular(path, mostBytes, "follow"));
  const hasOurs = reading !== undefined && "bytes" in reading && hasLines(reading.bytes);
  return { kind: "refused", why, hasOurs };
}

function hasLines(bytes: Buffer): boolean {
  const { credentials, origin } = parted(bytes);
  return credentials.size > 0 || origin !== undefined;
}

/** The runtime mounts this file of the pod's sandbox into each container. */
const sandboxFile = "/etc/resolv.conf";

/** Why containerd does not use the mounted directory; undefined if it does. */
function whyUnfit(
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
    list: (path) => readdirSync(mounted(path)),
  });
  if (typeof directory !== "string") return directory.why;
  const expected = join(containerdPath, "certs.d");
  return directory === expected ? undefined : `config_path is ${directory}, not ${expected}`;
}

/** Replaces or removes the files, each durably. */
export async function writeHosts(root: string, changes: readonly HostsChange[]): Promise<void> {
  const staging = join(root, stagingName);
  makeDirectory(staging);
  try {
    for (const change of changes) await writeOne(root, staging, change);
  } finally {
    clearStaging(root);
  }
}

/** Removes what a killed agent has staged, because it contains credentials. */
export function clearStaging(root: string): void {
  const staging = join(root, stagingName);
  for (const name of ignoring("ENOENT", () => readdirSync(staging)) ?? [])
    discard(join(staging, name));
  discard(staging);
}

async function writeOne(
  root: string,
  folder: string,
  { directory, file, expected, isOurDirectory }: HostsChange,
): Promise<void> {
  const path = join(root, directory);
  const target = join(path, hostsName);
  if ("bytes" in file) {
    ignoring("EEXIST", () => mkdirSync(path, { mode: 0o755 }));
    await sync(root);
    await replace({ target, folder, bytes: file.bytes, mode: file.mode, expected });
    return;
  }
  expect(target, expected);
  unlinkIfThere(target);
  await sync(path);
  if (!isOurDirectory) return;
  ignoring("ENOTEMPTY", () => rmdirSync(path));
  await sync(root);
}

/**
 * Delivery by containerd's hosts.toml: which entries it serves, and what must be in the files.
 * containerd reads the files at each pull, so no process is restarted, and the kubelet never has
 * these entries. Pure.
 */
import { type Credentials, type Origin, parted, put } from "#pullsecret/containerd/hosts.ts";
import {
  defaultDirectory,
  directoriesOf,
  registryOf,
  wholeHost,
} from "#pullsecret/containerd/endpoints.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { dockerHubImages, identity, isHubLogin, overlaps } from "#pullsecret/registry/registry.ts";
import type { FileIdentity } from "#agent/files/atomic-write.ts";
import type { Content, Entry, File } from "#agent/journal/journal.ts";
import { credentialOf, valueOf } from "../config-json/document.ts";
import { documentIn, overlay } from "../config-json/overlay.ts";

/**
 * What is in the directory of a registry. absent: no hosts.toml. `why`: why there must be none, or
 * only an empty one. refused: why we must not replace it. `hasOurs`: it has lines of ours, or
 * cannot be read.
 */
export type HostsFile =
  | Readonly<{ kind: "absent"; why?: string }>
  | Readonly<{ kind: "file"; bytes: Buffer; mode: number; identity: FileIdentity; why?: string }>
  | Readonly<{ kind: "refused"; why: string; hasOurs: boolean }>;

/** The directory with the directories of registries, as found. */
export type Runtime = Readonly<{
  /** Why containerd does not use the directory. */
  unfit?: string;
  /** Why we cannot look for lines of ours. */
  unseen?: string;
  /** Name of a registry's directory → its file. */
  directories: ReadonlyMap<string, HostsFile>;
  /** The directory's path on the node. */
  path: string;
}>;

/** A file to replace or to remove. `expected`: the file as it was found. */
export type HostsChange = Readonly<{
  directory: string;
  file: File;
  expected: FileIdentity;
  /** A credential of ours leaves the file. */
  isRemoval: boolean;
  /** Remove the directory, too, if it is empty: we have created it. */
  isOurDirectory: boolean;
}>;

/**
 * `changes`: what to write. `served`: the registries whose credential the files have. `refused`:
 * why other registries cannot be served.
 */
type Plan = Readonly<{
  changes: readonly HostsChange[];
  served: ReadonlySet<string>;
  refused: ReadonlyMap<string, string>;
}>;

/** The registry of our entry for a whole host. The original's entries stay in config.json. */
function registryIn({ key, original }: Entry): string | undefined {
  return original ? undefined : wholeHost(key);
}

/** The credentials of whole hosts. Of two for Docker Hub, the one that the kubelet tries first. */
function credentialsIn(entries: readonly Entry[]): Credentials {
  const isHub = (entry: Entry) => registryIn(entry) === dockerHubImages && !isHubLogin(entry.key);
  const isHubServed = entries.some(isHub);
  return new Map(
    entries.flatMap((entry) => {
      if (isHubServed && isHubLogin(entry.key)) return [];
      const registry = registryIn(entry);
      const [username, password] = credentialOf(valueOf(entry.raw));
      if (registry === undefined || username + password === "") return [];
      const auth = Buffer.from(`${username}:${password}`, "latin1").toString("base64");
      return [[registry, auth] as const];
    }),
  );
}

/** Whether containerd would serve entries on this node. */
export function canServe(runtime: Runtime | undefined, isRuntime: boolean): runtime is Runtime {
  return isRuntime && runtime !== undefined && runtime.unfit === undefined;
}

/**
 * Whether the content was taken in mode Runtime. After a change of the mode, the former content
 * stays in config.json until the node is asked to take the content again, so one node goes first.
 */
export function isMoved({ entries }: Content): boolean {
  return entries.some(({ place }) => place === "hosts");
}

/** The content with its places, for a node on which containerd can serve it. */
export function placedAt<C extends Content>(content: C, runtime: Runtime, theirs: File): C {
  return withPlaces(content, choose(content, runtime, theirs).served);
}

function withPlaces<C extends Content>(content: C, registries: ReadonlySet<string>): C {
  const entries = content.entries.map((entry): Entry => {
    const registry = registryIn(entry);
    const place = registry !== undefined && registries.has(registry) ? "hosts" : "file";
    return place === entry.place ? entry : { ...entry, place };
  });
  const isSame = entries.every((entry, index) => entry === content.entries[index]);
  return isSame ? content : { ...content, entries };
}

/**
 * The registries that hosts.toml serves, and why others cannot be served. If the kubelet sends a
 * credential for an image, containerd does not use the header for a token. So a registry moves only
 * if config.json keeps nothing for its images.
 */
function choose(content: Content, runtime: Runtime, theirs: File): Omit<Plan, "changes"> {
  const { served, refused } = planFor(runtime, credentialsIn(content.entries));
  const document = documentIn(overlay(theirs, withPlaces(content, served)));
  const remaining = [...(document?.auths.keys() ?? [])].flatMap((key) => identity(key) ?? []);
  const rivals = new Map(
    [...served].flatMap((registry) => {
      const rival = remaining.find((other) => overlaps(other, registry));
      return rival === undefined ? [] : [[registry, `${quote(rival)} stays there, too`] as const];
    }),
  );
  const registries = new Set([...served].filter((registry) => !rivals.has(registry)));
  return { served: registries, refused: new Map([...refused, ...rivals]) };
}

/** Entries for whole hosts that stay in config.json, and why; undefined if there are none. */
export function unservedIn(content: Content, runtime: Runtime, theirs: File): string | undefined {
  const { refused } = choose(content, runtime, theirs);
  if (refused.size === 0) return undefined;
  const reasons = Array.from(refused, ([registry, why]) => `${quote(registry)} (${why})`);
  const more = reasons.length > most ? `, and ${reasons.length - most} more` : "";
  return `stay in config.json: ${reasons.slice(0, most).join(", ")}${more}`;
}

/** The number of reasons that fit into one line. */
const most = 3;

/**
 * What to write. `isRead`: the kubelet has read our config.json. Until then, the files keep what
 * has moved to config.json, and if containerd does not use them, what config.json does not have.
 */
export function changesFor(
  { entries }: Content,
  runtime: Runtime | undefined,
  isRuntime: boolean,
  isRead: boolean,
): readonly HostsChange[] {
  if (runtime === undefined) return [];
  const isServing = canServe(runtime, isRuntime);
  const present = new Map(ours(runtime));
  const isWanted = (entry: Entry): boolean => {
    const isHere = present.has(registryIn(entry) ?? "");
    return entry.place === "hosts" ? isServing || isHere : isHere && !isRead;
  };
  return planFor(runtime, credentialsIn(entries.filter(isWanted))).changes;
}

/** Our credentials in the files. */
function ours({ directories }: Runtime): (readonly [registry: string, auth: string])[] {
  return [...directories.values()].flatMap((file) =>
    file.kind === "file" ? Array.from(parted(file.bytes).credentials) : [],
  );
}

/** Whether nothing of ours is in any file, as far as we can see. */
export function isClean(runtime: Runtime | undefined): boolean {
  return runtime !== undefined && ours(runtime).length === 0 && unremovable(runtime) === undefined;
}

/** Entries for our credentials in the files, which only we write. */
export function entriesIn(runtime: Runtime | undefined): readonly Entry[] {
  return (runtime === undefined ? [] : ours(runtime)).map(([key, auth]) => ({
    key,
    raw: JSON.stringify({ auth }),
    original: false,
    place: "hosts",
  }));
}

/** Why something of ours might stay where we cannot remove it. */
export function unremovable(runtime: Runtime | undefined): string | undefined {
  for (const [directory, file] of runtime?.directories ?? [])
    if (file.kind === "refused" && file.hasOurs) return `${quote(directory)}: ${file.why}`;
  return runtime?.unseen;
}

function planFor({ directories }: Runtime, credentials: Credentials): Plan {
  const changes: HostsChange[] = [];
  const registries = new Set<string>();
  const refused = new Map<string, string>();
  const homes = new Map(
    Array.from(credentials.keys(), (registry) => [homeOf(registry, directories), registry]),
  );
  for (const directory of new Set([...directories.keys(), ...homes.keys()])) {
    const registry = homes.get(directory) ?? registryOf(directory);
    const result = planOne(directory, registry, directories, credentials);
    if (result.change !== undefined) changes.push(result.change);
    if (!homes.has(directory) || registry === undefined) continue;
    if (result.served) registries.add(registry);
    else refused.set(registry, result.why ?? "it has no table for this registry");
  }
  return { changes, served: registries, refused };
}

/** The directory that containerd uses for the registry, or would use if it existed. */
function homeOf(registry: string, directories: Runtime["directories"]): string {
  const names = directoriesOf(registry);
  return names.find((name) => directories.has(name)) ?? names[0];
}

type Single = Readonly<{ change?: HostsChange; served?: boolean; why?: string }>;

function planOne(
  directory: string,
  registry: string | undefined,
  directories: Runtime["directories"],
  credentials: Credentials,
): Single {
  const found = directories.get(directory);
  if (found?.kind === "refused") return { why: found.why };
  if (found?.kind !== "file") {
    const own = registry === undefined ? undefined : credentials.get(registry);
    if (registry === undefined || own === undefined) return {};
    // A directory of its own would hide the default from the registry.
    const hidden = found === undefined && directories.has(defaultDirectory);
    const why = found?.why ?? (hidden ? `${defaultDirectory} applies to it` : undefined);
    if (why !== undefined) return { why };
    const origin = found === undefined ? "no directory" : "no file";
    const made = put(Buffer.alloc(0), registry, new Map([[registry, own]]), origin);
    if (!("bytes" in made)) return made;
    const file = { bytes: made.bytes, mode: 0o600 };
    const before = { expected: "absent", isRemoval: false, isOurDirectory: false };
    return { served: true, change: { directory, file, ...before } };
  }
  const { theirs, origin, credentials: former } = parted(found.bytes);
  const made =
    theirs.length === 0 && found.why !== undefined
      ? { why: found.why }
      : put(theirs, registry, credentials, origin ?? { mode: found.mode });
  const bytes = "bytes" in made ? made.bytes : theirs;
  const file = bytes === theirs ? fileOf(theirs, origin, found.mode) : closed(bytes, found.mode);
  const isRight = "bytes" in file && file.mode === found.mode && file.bytes.equals(found.bytes);
  const written = parted(bytes).credentials;
  const change = {
    directory,
    file,
    expected: found.identity,
    isRemoval: [...former].some(([name, auth]) => written.get(name) !== auth),
    isOurDirectory: origin === "no directory",
  };
  return { ...made, ...(!isRight && { change }) };
}

/** Only the owner can read a file with our lines. */
function closed(bytes: Buffer, mode: number): File {
  return { bytes, mode: mode & 0o700 };
}

/** The file of the other programs. A file of ours is absent, unless they added a line to it. */
function fileOf(theirs: Buffer, origin: Origin | undefined, mode: number): File {
  if (typeof origin === "object") return { bytes: theirs, mode: origin.mode };
  return origin !== undefined && theirs.length === 0 ? { absent: true } : { bytes: theirs, mode };
}

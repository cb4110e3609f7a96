/**
 * The journal, which must survive a kill: the file of the other programs, the content that is over
 * it, and the step that is under way. Pure. It contains credentials, so no part of it is ever
 * logged.
 */
import { createHash } from "node:crypto";

/** A config.json. Its bytes are outside V8's heap, which is small. */
export type File = Readonly<{ absent: true }> | Readonly<{ bytes: Buffer; mode: number }>;

/**
 * Where the kubelet finds an entry. file: in config.json · both: in config.json and in the
 * credential provider's answer · answer: in the answer, and config.json has no entry for these
 * images · beside: in the answer, and config.json keeps other programs' entries · hosts: in
 * containerd's hosts.toml, and config.json has no entry for these images.
 */
export const places = ["file", "both", "answer", "beside", "hosts"] as const;
export type Place = (typeof places)[number];

/** `raw`: the entry of `auths` as JSON. `original`: it comes from the original pull secret. */
export type Entry = Readonly<{ key: string; raw: string; original: boolean; place: Place }>;

/** What we put over the file of the other programs. */
export type Content = Readonly<{
  revision: number;
  /** Salted digest of the published content; empty in revision 0. */
  digest: string;
  entries: readonly Entry[];
  /** Other top-level keys of config.json, each as JSON. */
  rest: readonly Readonly<{ key: string; raw: string }>[];
}>;

/** Nothing of ours. */
export const noContent: Content = { revision: 0, digest: "", entries: [], rest: [] };

/** A time of one boot: milliseconds of CLOCK_MONOTONIC, which the kubelet uses, too. */
export type BootTime = Readonly<{ boot: string; monotonic: number }>;

/** Before every boot. */
export const never: BootTime = { boot: "", monotonic: 0 };

type Kept = Readonly<{
  version: typeof version;
  /** config.json as it would be without us, as last readable. */
  theirs: File;
  /** config.json is always the overlay of `content` over `theirs`. */
  content: Content;
  /** The last write that the kubelet has to read. */
  written: BootTime;
  /** The node's directory whose hosts.toml files might have lines of ours, or empty. */
  hosts: string;
}>;

/** No restart is due. `failed`: key of the order that failed last, or empty. */
export type Resting = Kept & Readonly<{ phase: "resting"; failed: string }>;

/**
 * The file is in place, and the kubelet must be restarted with it. `order`: key of the order.
 * `back`: the content to which a rollback returns. `asked`: our last request to restart the
 * kubelet, or the start of a process that nobody requested. `old`: the process before it. `deaths`:
 * how many processes with the new file had died before it. `restarts`: how often systemd had
 * restarted the unit by itself; 0 after a request, because systemd then counts from 0.
 */
export type Restarting = Kept &
  Readonly<{
    phase: "restarting";
    order: string;
    back: Content;
    unit: string;
    asked: BootTime;
    old: string;
    deaths: number;
    restarts: number;
  }>;

/** A rollback is in place, and the kubelet must run again. `failed`: key of the failed order. */
export type Reviving = Kept &
  Readonly<{ phase: "reviving"; failed: string; unit: string; tries: number; asked: BootTime }>;

/** Has no optional field: each phase lists what it needs. */
export type Journal = Resting | Restarting | Reviving;

/** The version that we write and read. A journal of another version is left alone. */
export const version = 4;

export type JournalReading =
  | Readonly<{ kind: "none" }>
  | Readonly<{ kind: "journal"; journal: Journal }>
  | Readonly<{ kind: "other version"; why: string }>
  | Readonly<{ kind: "corrupt"; why: string }>;

/** The other programs' bytes are in a file with this prefix and the bytes' digest. */
export const theirsPrefix = "theirs-";

/** Files with this prefix could not be read, and were replaced. */
export const unreadablePrefix = "unreadable-";

export function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

/** A journal as it is stored. `theirs`: the file to write before it. */
export type Stored = Readonly<{
  bytes: Buffer;
  theirs: Readonly<{ name: string; bytes: Buffer }> | undefined;
}>;

export function writeJournal(journal: Journal): Stored {
  const { theirs } = journal;
  if ("absent" in theirs) return { bytes: Buffer.from(JSON.stringify(journal)), theirs: undefined };
  const digest = digestOf(theirs.bytes);
  return {
    bytes: Buffer.from(JSON.stringify({ ...journal, theirs: { digest, mode: theirs.mode } })),
    theirs: { name: theirsPrefix + digest, bytes: theirs.bytes },
  };
}

/** The journal of a node that has nothing of ours. */
export function firstJournal(theirs: File, content = noContent): Resting {
  return { version, theirs, content, written: never, hosts: "", phase: "resting", failed: "" };
}

/** The same file and content, with no restart due. */
export function resting(journal: Journal, failed: string): Resting {
  const { theirs, content, written, hosts } = journal;
  return { version, theirs, content, written, hosts, phase: "resting", failed };
}

/** Whether the content puts nothing on the node. */
export function isNothing({ entries, rest }: Content): boolean {
  return entries.length + rest.length === 0;
}

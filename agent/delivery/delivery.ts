/**
 * Delivery: how a document reaches the kubelet. What decides (agent/decide, agent/restart) knows
 * this port and no implementation, so that a second way is a second `Delivery` in a folder beside
 * config-json/, chosen in main.ts.
 */
import type { FileIdentity } from "../files/atomic-write.ts";
import type { Former } from "../journal/former.ts";
import type { File, Journal, Owned } from "../journal/journal.ts";
import type { Document } from "./mount.ts";

export type Delivery = Readonly<{
  /** Paths below the kubelet's directory; a change of one of them is worth a look. */
  names: readonly string[];
  /**
   * What lies there. Never throws: what cannot be read, or not be replaced by its like, is refused
   * with the reason.
   */
  read: (kubeletDirectory: string) => NodeFile;
  /**
   * Puts files in place, or takes them away, durably and one after the other. Throws FileChanged
   * where something else lies there now than was found, else what the file system threw.
   */
  write: (rewrite: Rewrite, found: FoundFile, kubeletDirectory: string) => Promise<void>;
}>;

export type NodeFile =
  | FoundFile
  | Readonly<{ kind: "refused"; why: string }>
  | Readonly<{ kind: "changing" }>;

/** What was found, and what would become of it: every method is pure. */
export type FoundFile = Readonly<{
  /** `absent`: nothing lies there. */
  kind: "absent" | "file";
  /** Another one after any change by another writer. */
  identity: FileIdentity;
  /** Tells these bytes from others; empty where there are none. */
  digest: string;
  /** Why the kubelet reads nothing from it as it is; absent if it does. */
  healed?: string | undefined;
  /** Whether the kubelet passes over it, and takes another file that ours would hide. */
  passedOver: boolean;
  /**
   * What keeps the kubelet from taking what we give it, so that the node is not touched; a
   * withdrawal is made all the same.
   */
  unfit?: string | undefined;
  /** What is worth telling of a node that is as it should be. */
  note?: string | undefined;
  /** What is ours lies beside config.json, which most documents leave as it is. */
  beside?: true;
  /** As it is, for a rollback to it. */
  now: File;
  /** Applies or, if that is the intent, releases. `lost`: an unreadable journal was set aside. */
  plan: (journal: Journal | undefined, document: Document, lost: boolean) => Plan;
  /** Puts back what the change under way replaced. Without a record of it, nothing changes. */
  planRestore: (journal: Journal) => Rewrite;
  /** What is ours once that is done. */
  undone: (journal: Journal) => Owned;
  /** Whether everything that we put there last is there still; needs no Secret. */
  holds: (owned: Owned) => boolean;
  /**
   * What to recognize, after a withdrawal, in an old copy that comes back: all that was ours, but
   * nothing that the withdrawal has restored.
   */
  withdrawn: (owned: Owned) => Former;
  /** Which entries of other programs the kubelet tries before ours, for the report of the node. */
  rivals?: (owned: Owned) => string | undefined;
  /**
   * Whether something of ours may be there that no journal tells of. To be asked only under a
   * release after a lost journal.
   */
  isUnexplained: (document: Document) => boolean;
}>;

/** A file below the kubelet's directory, to be put in place. */
export type Put = Readonly<{ name: string; bytes: Buffer; mode: number; expected: FileIdentity }>;

export type Rewrite = Readonly<{
  /** Something has to be written, or removed. */
  changed: boolean;
  /** config.json as it is to be. */
  file: File;
  /** config.json is so already: what has to be written lies beside it. */
  kept?: true;
  /** Before config.json and after it, so that at no instant neither has the credentials. */
  first?: Put;
  last?: Put;
}>;

export type Plan = Rewrite &
  Readonly<{
    /**
     * What it costs to activate: true where the kubelet will find other credentials and must be
     * restarted, or left to read them again; false where it has nothing to learn, or asks by
     * itself.
     */
    matters: boolean;
    /** What is ours once the file is in place. */
    owned: Owned;
    /** What may be ours until then. */
    meanwhile: Owned;
    /** The file before us, to be kept with the journal. */
    before: File;
    /** Why the file must not be written: once it is there, it could not be read again by us. */
    excess?: string | undefined;
    /** The mode in which config.json is left. */
    left?: Journal["left"];
    /** Why the kubelet would not take it from us. */
    unfit?: string | undefined;
  }>;

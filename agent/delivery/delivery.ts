/**
 * Delivery: how a document reaches the kubelet. Decisions (agent/decide) use only this interface.
 * To add a delivery, add a folder beside config-json/ and choose it in main.ts.
 */
import type { FileIdentity } from "../files/atomic-write.ts";
import type { File, Journal, Owned } from "../journal/journal.ts";
import type { Document } from "./mount.ts";

export type Delivery = Readonly<{
  /** Paths below the kubelet's directory. A change of one of them starts a round of the agent. */
  names: readonly string[];
  /**
   * Reads the files. Never throws. Refuses, with the reason, a file that we cannot read or cannot
   * replace.
   */
  read: (kubeletDirectory: string) => NodeFile;
  /**
   * Writes and removes files, durably and one after the other. Throws FileChanged if a file has
   * changed since it was found, or the error of the file system.
   */
  write: (
    rewrite: Rewrite,
    file: Pick<FoundFile, "identity">,
    kubeletDirectory: string,
  ) => Promise<void>;
}>;

export type NodeFile =
  | FoundFile
  | Readonly<{ kind: "refused"; why: string; answer?: FoundAnswer }>
  | Readonly<{ kind: "changing"; answer?: FoundAnswer }>;

/**
 * The credential provider's answer, which only we write. A withdrawal empties it, whatever the
 * state of config.json.
 */
export type FoundAnswer = Readonly<{
  /**
   * Why we cannot read the answer. The kubelet might still use it, so a withdrawal is not complete.
   */
  unseen?: string | undefined;
  /** The write that empties the answer; absent if the answer has no credential. */
  empty?: Put | undefined;
}>;

/** The files as found, and the plans for them. All methods are pure. */
export type FoundFile = Readonly<{
  /** `absent`: there is no file. */
  kind: "absent" | "file";
  /** A text that changes whenever another program changes the file. */
  identity: FileIdentity;
  /** Distinguishes these bytes from others; empty if there is no file. */
  digest: string;
  /** Why the kubelet ignores the current file; absent if the kubelet reads it. */
  invalid?: string | undefined;
  /**
   * Why the kubelet cannot use the files that we write. In this case only a withdrawal touches the
   * node.
   */
  unfit?: string | undefined;
  /** Information to report while the content is in force. */
  note?: string | undefined;
  answer?: FoundAnswer;
  /** The current file, to which a rollback can return. */
  now: File;
  /**
   * Plans to apply the document, or to release the node if that is the document's intent. `lost`:
   * an unreadable journal was set aside.
   */
  plan: (journal: Journal | undefined, document: Document, lost: boolean) => Plan;
  /**
   * Plans to remove our entries of the registries that leave, and to restore what they displaced;
   * undefined if we have no such entry.
   */
  planRemoval: (journal: Journal, isLeaving: (registry: string) => boolean) => Removal | undefined;
  /** Plans to restore what the change under way replaced. Without an undo, nothing changes. */
  planRestore: (journal: Journal) => Rewrite;
  /** Our entries after `planRestore` was carried out. */
  undone: (journal: Journal) => Owned;
  /** Whether everything that we wrote last is still in place. Needs no Secret. */
  holds: (owned: Owned) => boolean;
  /** Entries of other programs that the kubelet tries before ours, for the node's report. */
  rivals?: (owned: Owned) => string | undefined;
  /**
   * Whether the file might contain entries of ours that no journal lists. Call this only for a
   * release after the journal was lost.
   */
  isUnexplained: (document: Document) => boolean;
}>;

/** A file below the kubelet's directory that is to be written. */
export type Put = Readonly<{
  name: string;
  bytes: Buffer;
  mode: number;
  expected: FileIdentity;
  /** The bytes that were in force, to put back if config.json cannot be replaced afterwards. */
  former?: Buffer;
}>;

export type Rewrite = Readonly<{
  /** Something must be written or removed. */
  changed: boolean;
  /** The planned config.json. */
  file: File;
  /** config.json stays as it is. Only files beside it are written. */
  keepsConfig?: true;
  /**
   * `first`: the answer to write before config.json. `last`: the empty answer to write after
   * config.json. With this order, config.json or the answer has the credentials at any instant,
   * unless a withdrawal cannot write config.json.
   */
  first?: Put;
  last?: Put;
}>;

/** `changed` is false if only the journal still lists the entries. */
export type Removal = Rewrite & Pick<Plan, "owned" | "meanwhile" | "excess">;

export type Plan = Rewrite &
  Readonly<{
    /**
     * Whether the kubelet must be restarted, or must reread config.json, to get the right
     * credentials. Also false if the provider serves them.
     */
    matters: boolean;
    /** Our entries after the file is in place. */
    owned: Owned;
    /** Entries that might be ours until the file is in place. */
    meanwhile: Owned;
    /** The file before our first change. The journal keeps this file. */
    before: File;
    /** Why the planned file is too large for us to read it after the write. */
    excess?: string | undefined;
    /** The file mode in which we leave config.json. */
    fileMode?: Journal["left"];
    /** Why the kubelet would not use the file. */
    unfit?: string | undefined;
  }>;

/** Whether config.json was read, or is known to be absent. */
export function isFound(file: NodeFile): file is FoundFile {
  return file.kind === "file" || file.kind === "absent";
}

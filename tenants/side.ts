/** A side as a value: where its objects are, where what is made from them goes, and how. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { SyncContent } from "./rules/content.ts";
import { sentence } from "./rules/problems.ts";
import type { Found } from "./rules/status.ts";
import type { Live } from "./rules/step.ts";
import type { Wanted } from "./rules/copies.ts";

export type Side = Readonly<{
  /** The cluster that has the SyncSecrets, and the path of their collection. */
  from: Cluster;
  objects: string;
  /**
   * The cluster in which something is made from each of them, and the path of that collection. A
   * SyncSecret's UID is the name there.
   */
  to: Cluster;
  made: string;
  /** What is made, in the log's words: `copy` or `Secret`. */
  noun: string;
  /** Finalizer that keeps a deleted object until what was made from it is gone. */
  finalizer?: string;
  /** Whether what depends on what was made goes before it or after it. */
  propagation: "Foreground" | "Background";
  wanted: (object: SyncSecret, content: SyncContent) => Wanted;
  /** True when the live one was made from the object with that UID, whatever was edited on it. */
  isOurs: (live: V1ObjectMeta, uid: string) => boolean;
  /** True for a copy, which this side must not copy again. */
  isCopy?: (metadata: V1ObjectMeta) => boolean;
  /** What the object's status says when the live one is as wanted. */
  told: (live: Live) => Found;
  /** Called before each run. */
  prepare?: () => Promise<void>;
  /**
   * True for something made by this side, of an object of its own cluster. Without that object it
   * was left behind, and is deleted.
   */
  isOwn?: (made: V1ObjectMeta) => boolean;
  /**
   * Seconds after a deletion when the finalizer goes without confirmation, and finalizers of others
   * where there is none of ours.
   */
  deadline: number;
  /** Tells people what was left behind. */
  leftBehind?: (object: V1ObjectMeta, message: string) => Promise<void>;
  /** What will soon keep this side from its work; undefined: nothing. */
  warning?: () => string | undefined;
}>;

/**
 * What is made could not be made. The object itself can usually still be written, so its status
 * reports why.
 */
export class Elsewhere extends Error {
  readonly found: Found;
  /** What a write left that did not do what it was to do. */
  readonly left: V1ObjectMeta | undefined;

  /** `message` is for the log alone. */
  constructor(found: Found, more: Readonly<{ message?: string; left?: V1ObjectMeta }> = {}) {
    super(more.message ?? found.message);
    this.found = found;
    this.left = more.left;
  }
}

/** Turns a failed request into Elsewhere, except a conflict, after which one looks again. */
export async function elsewhere<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ApiError && error.status !== 409)
      throw new Elsewhere(foundBy(error), { message: error.message });
    throw error;
  }
}

function foundBy({ status, reason }: ApiError): Found {
  const away = status === 0 || status >= 500 || [401, 429].includes(status);
  // Only HTTP status and reason: the message may quote what was sent.
  const why = `${status || "no answer"} ${reason}`;
  return away
    ? { reason: "Unreachable", message: sentence("unreachable", why) }
    : { reason: "Refused", message: sentence("refused", why) };
}

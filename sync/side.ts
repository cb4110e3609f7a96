/** One side of a SyncSecret's way: objects here, and what is made of each of them there. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { SyncContent } from "./rules/content.ts";
import { sentence } from "./rules/problems.ts";
import type { Found } from "./rules/status.ts";
import type { Live } from "./rules/step.ts";
import type { Wanted } from "./rules/wanted.ts";

export type Side = Readonly<{
  /** The cluster with the SyncSecrets, and their collection. */
  from: Cluster;
  objects: string;
  /** The cluster with what is made of them, and that collection. Its names are the UIDs. */
  to: Cluster;
  made: string;
  /** What is made, for the log: `copy`, `Secret`. */
  noun: string;
  /** Keeps a deleted object until what was made of it is gone. */
  finalizer: string;
  wanted: (object: SyncSecret, content: SyncContent) => Wanted;
  /** True when what is there was made of the object of that UID, whatever was edited on it. */
  isOurs: (live: V1ObjectMeta, uid: string) => boolean;
  /** True for an object that is not to be served, whatever it holds. */
  isCopy?: (metadata: V1ObjectMeta) => boolean;
  /** What the object says when what is made of it is as wanted. */
  told: (live: Live) => Found;
  /** Rights that could go before the objects do. */
  rights?: Readonly<{
    /** Collections whose changes are looked at, too. */
    watched: readonly Readonly<{ path: string; query: Readonly<Record<string, string>> }>[];
    /** Told before any object is served how many there are; undefined: nobody may list them. */
    hold: (objects: number | undefined) => Promise<void>;
  }>;
}>;

/** A failure of what is made, not of the object: the object can tell of it. */
export class Elsewhere extends Error {
  readonly found: Found;

  constructor(error: ApiError) {
    super(error.message);
    const away = error.status === 0 || error.status >= 500 || [401, 429].includes(error.status);
    // Only status and reason: the rest may quote what was sent.
    const why = `${error.status || "no answer"} ${error.reason}`;
    this.found = away
      ? { reason: "Unreachable", message: sentence("unreachable", why) }
      : { reason: "Refused", message: sentence("refused", why) };
  }
}

/** The answer of what is made; a conflict stays what it is: look again. */
export async function elsewhere<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ApiError && error.status !== 409) throw new Elsewhere(error);
    throw error;
  }
}

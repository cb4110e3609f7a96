/** One cluster: the calls, and what each call promises. */

/**
 * The calls to one cluster. Paths are the API's own, from `/api/v1/…`. Every method rejects with
 * ApiError. Reads, and starts of watches, are repeated after a 429 or 503 (retry.ts); a write is
 * sent once.
 */
export interface Cluster {
  /** The server's address, for the log. */
  readonly identity: string;
  /** The object, or undefined if it does not exist. */
  get<T>(path: string, options?: ReadOptions): Promise<T | undefined>;
  /**
   * Calls `each` with one page after the other, so memory never holds the whole list. A page has at
   * most 500 items and 8 MiB. A larger page is requested again with half as many items. `version`
   * is the version of the whole list, for a watch that begins there. If the call fails with 410,
   * the list took too long: start again.
   */
  pages<T>(
    path: string,
    query: Query,
    each: (items: readonly T[], version: string) => void,
    how?: PageOptions,
  ): Promise<void>;
  /**
   * Server-side apply of exactly the fields in `body`. A 409 means that another client wrote first:
   * read again.
   */
  apply<T>(path: string, body: object, options: Apply): Promise<T>;
  /**
   * Creates the object. Returns the created object, or the result of a request such as a
   * TokenRequest.
   */
  create<T>(path: string, body: object): Promise<T>;
  /**
   * Merges these fields into the object, as a JSON merge patch (RFC 7386). `metadata` in `body`
   * contains the uid and the resourceVersion on which the caller decided. If the object has another
   * version, the call fails with 409.
   */
  patch<T>(path: string, body: Patch): Promise<T>;
  /**
   * Deletes exactly the object with that uid, and with that version if one is given. An absent
   * object is not an error. If another client has replaced or changed the object, the object stays,
   * and the call fails with 409: read the object again. `Foreground`: the object stays until its
   * dependents that block its deletion are gone.
   */
  remove(
    path: string,
    uid: string,
    resourceVersion?: string,
    propagation?: "Background" | "Foreground",
  ): Promise<void>;
  /**
   * Lines of a list-then-watch request, until the server ends it. `as`: with `metadata`, each line
   * has the object's metadata only.
   */
  stream(
    path: string,
    query: Query,
    signal: AbortSignal,
    line: (line: string) => void,
    as?: "metadata",
  ): Promise<void>;
}

/** A connection that can replace objects. No controller does this, so no wrapper of theirs can. */
export interface Replacing extends Cluster {
  /** Replaces the object that has the resourceVersion in `body`. */
  replace<T>(path: string, body: object): Promise<T>;
}

/**
 * The resourceVersion of an apply that can only create an object. No object ever has this version,
 * so an existing object gives a 409, even if this program created it. Without this version, an
 * apply by the same manager would change the existing object.
 */
export const newborn = "1";

export type Query = Readonly<Record<string, string>>;
/**
 * Seconds to wait for the answer; for a read, the total of all attempts. Default: the connection's
 * limit. `signal` ends the wait for another attempt of a read.
 */
export type Timeouts = Readonly<{ seconds?: number; signal?: AbortSignal }>;
/**
 * `metadata`: the object without spec, status and data, as PartialObjectMetadata. `text`: an answer
 * that is not JSON, such as that of `/readyz`.
 */
export type ReadOptions = Timeouts & Readonly<{ as?: "metadata" | "text" }>;
/**
 * `metadata`: the objects without spec, status and data. `skipped`: called with the name of an
 * object that is larger than a page, and the reason; the list continues without the object. Without
 * `skipped`, such an object ends the list. `mostValues`: how many values of JSON a page has at
 * most, if others write the objects. A page with more values is requested again with half as many
 * objects.
 */
export type PageOptions = Pick<Timeouts, "signal"> &
  Readonly<{
    as?: "metadata";
    skipped?: (name: string, error: Error) => void;
    mostValues?: number | undefined;
  }>;
type Patch = Readonly<{
  metadata: Readonly<{ uid: string; resourceVersion: string; [field: string]: unknown }>;
  [field: string]: unknown;
}>;
/**
 * `dryRun`: the answer is what the request would store, and nothing is written. `isPublic`: the
 * body contains no credential, so an error may quote it, even of a Secret.
 */
type Apply = Timeouts &
  Readonly<{ manager: string; force: boolean; dryRun?: boolean; isPublic?: boolean }>;

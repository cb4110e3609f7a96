/** One cluster, as whoever works with it sees it: the calls, and what each one promises. */

/**
 * What is asked of a cluster. Paths are the API's own, from `/api/v1/…`. Every method rejects with
 * ApiError.
 */
export interface Cluster {
  /** Where this is, for the log. */
  readonly identity: string;
  /** The object, or undefined when there is none. */
  get<T>(path: string, options?: Reading): Promise<T | undefined>;
  /**
   * Calls `each` with one page of at most 500 items after the other, so that no list is ever held
   * whole. As rows: what kubectl would print, a tenth of the objects. As metadata: without spec,
   * status and data.
   */
  pages<T>(
    path: string,
    query: Query,
    each: (items: readonly T[]) => void,
    as?: "rows" | "metadata",
  ): Promise<void>;
  /**
   * Server-side apply of exactly the fields in `body`. A 409 means that someone else was there
   * first: look again.
   */
  apply<T>(path: string, body: object, options: Apply): Promise<T>;
  create(path: string, body: object): Promise<void>;
  /** Puts `body` in the place of the object whose resourceVersion it carries. */
  replace<T>(path: string, body: object, options?: DryRun): Promise<T>;
  /**
   * Deletes the very object of that uid, in that version when one is given. One that is gone is no
   * error; one that was replaced or changed meanwhile is left alone, with a 409: look again.
   */
  remove(path: string, uid: string, resourceVersion?: string): Promise<void>;
  /** Lines of a list-then-watch request, until the server ends it. */
  stream(
    path: string,
    query: Query,
    signal: AbortSignal,
    line: (line: string) => void,
  ): Promise<void>;
}

/**
 * resourceVersion of an apply that may only create. No object ever has this version, so that one
 * that is there already gives a 409, also when this program made it: to the same manager an apply
 * without force is no conflict.
 */
export const newborn = "1";

export type Query = Readonly<Record<string, string>>;
/** Seconds that the answer may take, where it must not take as long as any. */
export type Patience = Readonly<{ seconds?: number }>;
/** As metadata: the object without spec, status and data, as PartialObjectMetadata. */
export type Reading = Patience & Readonly<{ as?: "metadata" }>;
/** The answer is what the request would make; nothing is written. */
type DryRun = Readonly<{ dryRun?: boolean }>;
type Apply = DryRun & Patience & Readonly<{ manager: string; force: boolean }>;

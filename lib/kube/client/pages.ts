/**
 * Reads lists page by page, so that memory never holds a whole list. Pages are counted in objects,
 * and limited in bytes: a page that is too large is requested again with half as many objects.
 */
import { HttpMethod } from "@kubernetes/client-node";
import { ApiError } from "./api-error.ts";
import type { PageOptions, Query } from "./cluster.ts";
import type { Connection } from "./connection.ts";

/** Table of rows, as kubectl prints them. */
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const metadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/** Maximum number of objects of a page. */
const mostObjects = 500;

/**
 * Bytes of one page. Measured with Nodes of 70 kB: pages of up to 8 MiB add 70 MiB to the process,
 * pages of up to 32 MiB add 140 MiB, of the 256 MiB that the controller has.
 */
const largestPage = 8 * 1024 * 1024;

/**
 * After this many pages in a row that were small enough, we double the number of objects per page,
 * up to the maximum. Large objects are rare, so one of them must not keep all later pages small.
 */
const pagesBeforeMore = 8;

type Page = {
  items?: unknown[] | null;
  rows?: { cells?: unknown[] }[];
  metadata?: { continue?: string; resourceVersion?: string };
};

type List = Readonly<{ path: string; query: Query }>;

/** Calls `each` with one page after the other, as `Cluster.pages` promises. */
export async function listPages(
  { ask, largest }: Pick<Connection, "ask" | "largest">,
  { path, query }: List,
  each: (items: readonly never[], version: string) => void,
  { as, skipped, signal, mostValues }: PageOptions,
): Promise<void> {
  const read = (limit: number, from: string, accept: string | undefined) =>
    ask<Page>(
      {
        method: HttpMethod.GET,
        path,
        query: {
          ...query,
          ...(accept === table ? { includeObject: "None" } : {}),
          limit: String(limit),
          continue: from,
        },
        largest: Math.min(largest, largestPage),
        mostValues,
        ...(accept === undefined ? {} : { accept }),
      },
      signal === undefined ? {} : { signal },
    );
  const accept = as === undefined ? undefined : metadataList;
  let limit = mostObjects;
  let good = 0;
  let next: string | undefined = "";
  while (next !== undefined) {
    const from: string = next;
    try {
      const page: Page = await read(limit, from, accept);
      // An empty list of metadata has null for its items.
      const items = page.items ?? [];
      each(items as never[], page.metadata?.resourceVersion ?? "");
      next = page.metadata?.continue || undefined;
      good += 1;
      if (good % pagesBeforeMore === 0) limit = Math.min(mostObjects, limit * 2);
    } catch (error) {
      if (!(error instanceof ApiError) || !error.tooLarge) throw error;
      good = 0;
      if (limit > 1) {
        limit = Math.ceil(limit / 2);
        continue;
      }
      // Of the object that is too large, we read only what kubectl would print: its name, and the
      // position at which the list continues. Its metadata alone can be too large.
      const page: Page = await read(1, from, table);
      const name = nameOf(page);
      const sizeError = new ApiError({
        status: 0,
        reason: error.reason,
        method: "GET",
        path,
        detail: `${name} alone is larger than a page may be`,
      });
      if (skipped === undefined) throw sizeError;
      skipped(name, sizeError);
      // The caller learns the list's version also if every object is left out.
      each([], page.metadata?.resourceVersion ?? "");
      next = page.metadata?.continue || undefined;
    }
  }
}

/** The name in the only row of the page. A server that is not ours can put any text there. */
function nameOf({ rows }: Page): string {
  const name = rows?.[0]?.cells?.[0];
  return typeof name === "string" && /^[a-z0-9][-.a-z0-9:]{0,252}$/.test(name) ? name : "an object";
}

/** How many bytes of pull secrets a cluster can store. */
import { Buffer } from "node:buffer";
import type { Problem } from "../problems/problems.ts";

/**
 * The limit in bytes: 480 KiB for all sources together, and 480 KiB for the result of their merge.
 * This result is the document and a list with the source of each registry. The controller's state
 * holds both in one Secret, and global-pull-secret holds two results and 23 kB of digests. The API
 * server stores at most 1 MiB in a Secret's values.
 */
export const capacity = 480 * 1024;

/**
 * Code, problem, action. Part of the controller's catalogue, because the limit is the controller's.
 */
export const overfull = [
  "GPS308",
  "the sources together, or their merge, are longer than 480 KiB",
  "remove entries: both are stored in one Secret, and the API server stores no Secret above 1 MiB",
] as const;

/** Why the sources or their merge cannot be stored; undefined if they can. */
export function judgeSize(
  sourceBytes: number,
  document: string,
  origins: string,
): Problem | undefined {
  if (sourceBytes <= capacity && bytesOf(document, origins) <= capacity) return undefined;
  const [code, what, todo] = overfull;
  return { code, source: "sources", path: "document", what, todo };
}

/** The bytes of all texts together; an absent text has none. */
export function bytesOf(...texts: readonly (string | undefined)[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ""), 0);
}

/**
 * Reads objects that the caller may have no right to read, and lists of objects, and repeats writes
 * after a conflict.
 */
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";

/** The result of a read, or `otherwise` if the caller is not allowed to read this. */
export async function ifAllowed<T, const Otherwise>(
  read: Promise<T>,
  otherwise: Otherwise,
): Promise<T | Otherwise> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return otherwise;
    throw error;
  }
}

/**
 * Maximum number of attempts at a write. If all attempts end in a conflict, another client writes
 * the object all the time.
 */
const attempts = 5;

/** Reads and writes again after a conflict. */
export async function untilUncontested<T>(readAndWrite: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readAndWrite();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409 || attempt === attempts) throw error;
    }
  }
}

/** All objects of a collection. */
export async function listOf<T>(
  cluster: Cluster,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<T[]> {
  const objects: T[] = [];
  await cluster.pages<T>(path, query, (page) => void objects.push(...page));
  return objects;
}

/**
 * The object without managedFields. They are longer than the rest of the object, and users do not
 * need them.
 */
export function withoutFields<T extends Readonly<{ metadata: object }>>(object: T): T {
  return { ...object, metadata: { ...object.metadata, managedFields: undefined } };
}

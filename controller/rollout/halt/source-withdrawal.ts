/** Whether a revision withdraws a whole source while others stay. Pure. */

/**
 * True when a source supplied a registry before and supplies none after. Both are JSON texts,
 * registry → source, as global-pull-secret holds them. A malformed one supplies nothing.
 */
export function takesBack(before: string | undefined, after: string | undefined): boolean {
  const left = suppliers(after);
  return [...suppliers(before)].some((source) => !left.has(source));
}

function suppliers(sources: string | undefined): ReadonlySet<unknown> {
  try {
    return new Set(Object.values(JSON.parse(sources ?? "{}") as object));
  } catch {
    return new Set();
  }
}
